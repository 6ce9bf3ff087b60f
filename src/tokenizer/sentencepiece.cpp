// The protocol buffer in which SentencePiece stores a model, as far as a BPE vocabulary needs it.
//   ModelProto:      1 pieces (repeated), 2 trainer_spec, 3 normalizer_spec
//   SentencePiece:   1 piece (string), 2 score (float), 3 type (enum, numbered like TokenKind)
//   TrainerSpec:     3 model_type (1 unigram, 2 BPE, 3 word, 4 char), 24 treat_whitespace_as_suffix,
//                    40 unk_id, 41 bos_id, 42 eos_id, 43 pad_id
//   NormalizerSpec:  3 add_dummy_prefix, 5 escape_whitespaces
// Source: the message definitions of the SentencePiece project.
#include <bit>

#include "base/error.h"
#include "tokenizer/hf_tokenizer.h"

namespace powerinfer::tokenizer {
namespace {

using Bytes = std::span<const uint8_t>;

/// Walks the fields of one message.
class Message {
  public:
    Message(Bytes bytes, const std::string& label) : bytes_(bytes), label_(label) {}

    /// Advances to the next field; false at the end.
    bool next() {
        if (at_ == bytes_.size()) return false;
        const uint64_t tag = varint();
        field_ = tag >> 3;
        value_ = 0;
        payload_ = {};
        switch (tag & 7) {
            case 0:
                value_ = varint();
                break;
            case 1:
                payload_ = take(8);
                break;
            case 2:
                payload_ = take(varint());
                break;
            case 5:
                payload_ = take(4);
                break;
            default:
                damaged("an unknown wire type");
        }
        return true;
    }
    uint64_t field() const { return field_; }
    uint64_t number() const { return value_; }
    Bytes payload() const { return payload_; }
    std::string text() const { return {payload_.begin(), payload_.end()}; }
    float number_f32() const {
        if (payload_.size() != 4) damaged("a float that is not four bytes");
        uint32_t bits = 0;
        for (int i = 3; i >= 0; --i) bits = bits << 8 | payload_[i];
        return std::bit_cast<float>(bits);
    }

  private:
    [[noreturn]] void damaged(const char* what) const {
        fail(ErrorKind::bad_file,
             "{}: not a SentencePiece model, or damaged: {} near byte {} of a message of {}.", label_, what,
             at_, bytes_.size());
    }
    uint64_t varint() {
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const uint8_t byte = take(1)[0];
            value |= static_cast<uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        damaged("a number of more than ten bytes");
    }
    Bytes take(uint64_t size) {
        if (size > bytes_.size() - at_) damaged("a length that goes beyond the end");
        at_ += size;
        return bytes_.subspan(at_ - size, size);
    }

    Bytes bytes_;
    const std::string& label_;
    size_t at_ = 0;
    uint64_t field_ = 0, value_ = 0;
    Bytes payload_;
};

void read_piece(Bytes bytes, const std::string& label, VocabularyData& data) {
    std::string text;
    float score = 0;
    uint64_t kind = 1;
    for (Message message(bytes, label); message.next();) {
        if (message.field() == 1) text = message.text();
        if (message.field() == 2) score = message.number_f32();
        if (message.field() == 3) kind = message.number();
    }
    if (kind < 1 || kind > 6)
        fail(ErrorKind::bad_file, "{}: piece {} ('{}') has the type {}; known types are 1 to 6.", label,
             data.tokens.size(), text, kind);
    data.tokens.push_back(std::move(text));
    data.scores.push_back(score);
    data.kinds.push_back(static_cast<TokenKind>(kind));
}

void read_trainer(Bytes bytes, const std::string& label, VocabularyData& data) {
    uint64_t model_type = 1;
    bool suffix = false;
    // Written only where they differ from the defaults; -1 means "none".
    int32_t unk = 0, bos = 1, eos = 2, pad = -1;
    for (Message message(bytes, label); message.next();) {
        const auto number = static_cast<int32_t>(message.number());  // the fields are int32
        if (message.field() == 3) model_type = message.number();
        if (message.field() == 24) suffix = number != 0;
        if (message.field() == 40) unk = number;
        if (message.field() == 41) bos = number;
        if (message.field() == 42) eos = number;
        if (message.field() == 43) pad = number;
    }
    if (model_type != 2)
        fail(ErrorKind::unsupported,
             "{}: the SentencePiece model is of type {}; only BPE (type 2) is supported, not {}.", label,
             model_type, model_type == 1 ? "unigram" : "word or character models");
    if (suffix)
        fail(ErrorKind::unsupported, "{}: the SentencePiece model marks word ends instead of word starts.",
             label);
    const auto id = [](int32_t value) { return value < 0 ? std::nullopt : std::optional<TokenId>(value); };
    data.unk = id(unk);
    data.bos = id(bos);
    data.eos = id(eos);
    data.pad = id(pad);
}

void read_normalizer(Bytes bytes, const std::string& label, VocabularyData& data) {
    for (Message message(bytes, label); message.next();) {
        if (message.field() == 3) data.add_space_prefix = message.number() != 0;
        if (message.field() == 5 && message.number() == 0)
            fail(ErrorKind::unsupported, "{}: the SentencePiece model does not write spaces as U+2581.",
                 label);
    }
}

}  // namespace

VocabularyData parse_sentencepiece(std::span<const uint8_t> bytes, const std::string& label) {
    VocabularyData data;
    data.model = "llama";
    data.pre = "default";
    data.add_space_prefix = true;
    bool has_trainer = false;
    for (Message message(bytes, label); message.next();) {
        if (message.field() == 1) read_piece(message.payload(), label, data);
        if (message.field() == 2) {
            read_trainer(message.payload(), label, data);
            has_trainer = true;
        }
        if (message.field() == 3) read_normalizer(message.payload(), label, data);
    }
    if (!has_trainer)
        fail(ErrorKind::bad_file, "{}: not a SentencePiece model: it does not say of what type it is.",
             label);
    check_vocabulary(data, label);
    return data;
}

}  // namespace powerinfer::tokenizer
