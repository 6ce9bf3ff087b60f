// Sets of part files: opened by the first, refused with the name of what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_message.h"
#include "formats/gguf.h"
#include "formats/gguf_image.h"
#include "temporary_folder.h"

namespace powerinfer::formats {
namespace {

using test::message_of;
using test::RawGguf;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

/// Part `no` (from 0) of `count`, with one tensor of its own of four floats.
RawGguf part(uint16_t no, uint16_t count, int32_t n_tensors) {
    RawGguf g;
    if (no == 0) g.keys.emplace_back("general.architecture", test::text("llama"));
    g.keys.emplace_back("split.no", test::u16(no));
    g.keys.emplace_back("split.count", test::u16(count));
    g.keys.emplace_back("split.tensors.count", test::i32(n_tensors));
    g.tensors = {{"blk." + std::to_string(no) + ".weight", {4}, 0, 0}};
    g.data_bytes = 16;
    return g;
}

class GgufSplit : public testing::Test {
  protected:
    std::string write(const std::string& name, const RawGguf& g) const {
        return folder_.file(name, g.build().bytes);
    }
    void SetUp() override {
        first_ = write("m-00001-of-00003.gguf", part(0, 3, 3));
        second_ = write("m-00002-of-00003.gguf", part(1, 3, 3));
        third_ = write("m-00003-of-00003.gguf", part(2, 3, 3));
    }
    std::string open_first() const {
        return message_of([&] { GgufFile::open(first_); });
    }
    test::TemporaryFolder folder_;
    std::string first_, second_, third_;
};

TEST_F(GgufSplit, OpensAllPartsByTheFirst) {
    const GgufFile f = GgufFile::open(first_);
    EXPECT_EQ(f.path(), first_);
    EXPECT_EQ(f.get_string("general.architecture"), "llama");
    ASSERT_EQ(f.tensors().size(), 3u);
    ASSERT_EQ(f.parts().size(), 3u);
    EXPECT_EQ(f.n_bytes(),
              f.parts()[0].bytes().size() + f.parts()[1].bytes().size() + f.parts()[2].bytes().size());
    for (int i = 0; i < 3; ++i) {
        const GgufTensor* t = f.find_tensor("blk." + std::to_string(i) + ".weight");
        ASSERT_NE(t, nullptr);
        EXPECT_EQ(t->part, i);
        const auto bytes = f.parts()[static_cast<size_t>(i)].bytes();
        EXPECT_EQ(t->view.data, bytes.data() + t->offset);
    }
}

TEST_F(GgufSplit, ViewsOutliveAMove) {
    GgufFile f = GgufFile::open(first_);
    const GgufFile moved = std::move(f);
    EXPECT_EQ(moved.find_tensor("blk.2.weight")->view.row(0)[1], 7);
}

TEST_F(GgufSplit, LaterPartIsRefusedNamingTheFirst) {
    EXPECT_EQ(message_of([&] { GgufFile::open(second_); }),
              "'" + second_ + "' is part 2 of 3 of a split model; pass the first part '" + first_ + "'");
}

TEST_F(GgufSplit, MissingPartIsNamed) {
    std::filesystem::remove(third_);
    EXPECT_THAT(open_first(), AllOf(HasSubstr("part 3 is missing"), HasSubstr(third_)));
}

TEST_F(GgufSplit, DamagedPartIsNamed) {
    RawGguf g = part(1, 3, 3);
    g.data_bytes = 15;
    write("m-00002-of-00003.gguf", g);
    EXPECT_THAT(open_first(),
                AllOf(HasSubstr("'" + second_ + "': tensor 'blk.1.weight'"), HasSubstr("only 15")));
}

TEST_F(GgufSplit, PartsMustBelongTogether) {
    write("m-00002-of-00003.gguf", part(2, 3, 3));
    EXPECT_THAT(open_first(), HasSubstr("it is part 3 of 3, expected part 2 of 3"));
    write("m-00002-of-00003.gguf", part(1, 4, 3));
    EXPECT_THAT(open_first(), HasSubstr("it is part 2 of 4, expected part 2 of 3"));
    RawGguf g = part(1, 3, 3);
    g.magic = "PWRI";
    write("m-00002-of-00003.gguf", g);
    EXPECT_THAT(open_first(), HasSubstr("differ in their magic"));
    g = part(1, 3, 3);
    g.tensors[0].name = "blk.0.weight";
    write("m-00002-of-00003.gguf", g);
    EXPECT_THAT(open_first(), HasSubstr("tensor 'blk.0.weight' is also in part 1"));
}

TEST_F(GgufSplit, AllTensorsMustBeThere) {
    write("m-00001-of-00003.gguf", part(0, 3, 4));
    EXPECT_THAT(open_first(), EndsWith("key 'split.tensors.count' is 4, but the 3 parts hold 3 tensors"));
}

TEST_F(GgufSplit, RenamedPartIsRefused) {
    const std::string renamed = write("m.gguf", part(0, 3, 3));
    EXPECT_THAT(
        message_of([&] { GgufFile::open(renamed); }),
        HasSubstr("part 1 of 3 of a split model and holds 1 of its 3 tensors, but its name does not end in "
                  "'-00001-of-00003.gguf'"));
    const std::string other = write("n-00002-of-00003.gguf", part(0, 3, 3));
    EXPECT_THAT(message_of([&] { GgufFile::open(other); }),
                HasSubstr("part 1 of 3, but its name says part 2 of 3"));
}

TEST_F(GgufSplit, LeftoverKeysOfAJoinedModelDoNotMatter) {
    RawGguf g = part(0, 3, 1);
    EXPECT_EQ(GgufFile::open(write("joined.gguf", g)).tensors().size(), 1u);
    EXPECT_EQ(GgufFile::open(write("joined-00001-of-00003.gguf", g)).tensors().size(), 1u);
    g = part(0, 1, 1);
    EXPECT_EQ(GgufFile::open(write("single.gguf", g)).tensors().size(), 1u);
    g = part(0, 3, 1);
    g.keys.pop_back();  // no split.tensors.count
    EXPECT_EQ(GgufFile::open(write("old.gguf", g)).tensors().size(), 1u);
}

TEST_F(GgufSplit, CountOfTheWrongKindIsRefused) {
    RawGguf g = part(0, 3, 3);
    g.keys[2].second = test::text("3");
    EXPECT_THAT(message_of([&] { GgufFile::open(write("m.gguf", g)); }),
                HasSubstr("key 'split.count' has type string, expected an unsigned integer"));
    g.keys[2].second = test::u64(~0ull);
    EXPECT_THAT(message_of([&] { GgufFile::open(write("m-00001-of-00003.gguf", g)); }),
                HasSubstr("its name says"));
}

TEST(GgufOpen, SystemErrorsNameThePath) {
    const test::TemporaryFolder folder;
    EXPECT_THAT(message_of([&] { GgufFile::open(folder / "no.gguf"); }), HasSubstr("no.gguf': No such file"));
    EXPECT_THAT(message_of([&] { GgufFile::open(folder / ""); }), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace powerinfer::formats
