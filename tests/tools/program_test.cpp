// The built program in a shell: exit status and what it leaves behind when the world does not cooperate.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

const std::string kProgram = "\"" POWERINFER_PROGRAM "\"";
const std::string kModel = "\"" POWERINFER_SOURCE_DIR "/models/fable.gguf\"";
const std::string kShortRun = kProgram + " run -m " + kModel + " -p A -n 3 --temp 0 </dev/null ";

/// The exit status, or 128 + the signal that ended the program.
int status_of(const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class ProgramTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::path(testing::TempDir()) /
                  ("powerinfer-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string content(const std::string& name) const {
        std::ifstream file(folder_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    std::filesystem::path folder_;
};

TEST_F(ProgramTest, TextThatCannotBeWrittenIsAnError) {
    for (const char* out : {">/dev/full", ">&-"}) {
        EXPECT_EQ(status_of(kShortRun + out + " 2>" + path("err")), 1) << out;
        EXPECT_NE(content("err").find("error: cannot write to standard output"), std::string::npos) << out;
        for (const char* asked : {" --version", " --help", " run --help"})
            EXPECT_EQ(status_of(kProgram + asked + " 2>/dev/null " + out), 1) << asked << out;
    }
}

TEST_F(ProgramTest, MessagesThatNobodyTakesChangeNothing) {
    ASSERT_EQ(status_of(kShortRun + " >" + path("plain") + " 2>/dev/null"), 0);
    ASSERT_FALSE(content("plain").empty());
    for (const char* err : {"2>/dev/full", "2>&-"}) {
        EXPECT_EQ(status_of(kShortRun + " >" + path("text") + " " + err), 0) << err;
        EXPECT_EQ(content("text"), content("plain")) << err;
        EXPECT_EQ(status_of(kProgram + " run -m /nonexistent " + err), 1) << err;
        EXPECT_EQ(status_of(kProgram + " run --nonsense " + err), 1) << err;
    }
}

TEST_F(ProgramTest, AFileOverTheSizeLimitLeavesNothingBehind) {
    const std::string quantize = kProgram + " quantize " + kModel + " " + path("out/big.gguf") + " f32";
    std::filesystem::create_directory(path("out"));
    EXPECT_EQ(status_of("ulimit -f 1000; " + quantize + " >/dev/null 2>&1"), 1);
    EXPECT_TRUE(std::filesystem::is_empty(path("out")));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these need terabytes of address space
TEST_F(ProgramTest, ThreadsThatTheSystemDoesNotGiveAreAnError) {
    EXPECT_EQ(status_of("ulimit -v 1000000; " + kShortRun + " -t 1000 >/dev/null 2>" + path("err")), 1);
    EXPECT_NE(content("err").find("threads, 1000 were asked for"), std::string::npos) << content("err");
}
#endif

TEST_F(ProgramTest, ASignalThatEndsAConversionLeavesNothingBehind) {
    for (const char* signal : {"INT", "TERM", "HUP"}) {
        std::filesystem::create_directory(path("out"));
        // A model of some hundred MB, so that the signal comes while it is written.
        const std::string command = "timeout --preserve-status -s " + std::string(signal) + " 0.3 " + kProgram +
                                    " synth llama-7b -o " + path("out/big.gguf") + " >/dev/null 2>&1";
        EXPECT_GE(status_of(command), 129) << signal;
        EXPECT_TRUE(std::filesystem::is_empty(path("out"))) << signal;
    }
}

TEST_F(ProgramTest, HelpOfQuantizeNamesTheTypes) {
    for (const char* to : {" --help >", " 2>"}) {
        status_of(kProgram + " quantize" + to + path("text"));
        EXPECT_NE(content("text").find("Q4_K_M"), std::string::npos) << to;
    }
}

TEST_F(ProgramTest, AnOutputFileNeverTakesTheNumberOfAClosedStream) {
    const std::string quantize = kProgram + " quantize " + kModel + " ";
    ASSERT_EQ(status_of(quantize + path("plain") + " q8_0 >/dev/null 2>&1"), 0);
    EXPECT_EQ(status_of(quantize + path("closed") + " q8_0 <&- 2>&-"), 0);
    EXPECT_EQ(content("closed"), content("plain"));
}

}  // namespace
