// A model folder: which files there are and what each adds.
#include "tokenizer/hf_tokenizer.h"

#include <filesystem>

#include "base/error.h"
#include "base/mapped_file.h"
#include "tokenizer/hf_parts.h"

namespace powerinfer::tokenizer {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Applies the contents of a file if it is there.
void apply_file(const fs::path& path, void (*apply)(std::string_view, const std::string&, VocabularyData&),
                VocabularyData& data) {
    if (!fs::exists(path)) return;
    const MappedFile file(path.string());
    apply(text_of(file), path.string(), data);
}

VocabularyData read_base(const fs::path& folder) {
    const fs::path model = folder / "tokenizer.model", json = folder / "tokenizer.json";
    if (fs::exists(model)) {
        const MappedFile file(model.string());
        // Some models use this name for a list of base64 lines. A SentencePiece file begins with its first
        // piece.
        if (!file.bytes().empty() && file.bytes()[0] == 0x0A) {
            VocabularyData data = parse_sentencepiece(file.bytes(), model.string());
            apply_file(json, add_tokens_of_tokenizer_json, data);
            return data;
        }
    }
    if (fs::exists(json)) {
        const MappedFile file(json.string());
        return parse_tokenizer_json(text_of(file), json.string());
    }
    const fs::path vocab = folder / "vocab.json", merges = folder / "merges.txt";
    if (fs::exists(vocab) && fs::exists(merges)) {
        const MappedFile vocab_file(vocab.string()), merges_file(merges.string());
        return parse_vocab_and_merges(text_of(vocab_file), text_of(merges_file), vocab.string());
    }
    fail(ErrorKind::bad_file,
         "{}: no vocabulary here: expected tokenizer.model (SentencePiece), tokenizer.json, or "
         "vocab.json with merges.txt.",
         folder.string());
}

}  // namespace

VocabularyData read_hf_vocabulary(const std::string& folder_name) {
    const fs::path folder = folder_name;
    VocabularyData data = read_base(folder);
    apply_file(folder / "added_tokens.json", add_tokens_of_map, data);
    apply_file(folder / "special_tokens_map.json", apply_special_tokens_map, data);
    apply_file(folder / "tokenizer_config.json", apply_tokenizer_config, data);
    apply_file(folder / "config.json", apply_model_config, data);
    if (fs::exists(folder / "chat_template.jinja")) {
        const MappedFile file((folder / "chat_template.jinja").string());
        data.chat_template = text_of(file);
    }
    // Say it outright, so that no reader has to guess.
    if (!data.add_bos) data.add_bos = data.model == "llama";
    if (!data.add_eos) data.add_eos = false;
    check_vocabulary(data, folder_name);
    return data;
}

}  // namespace powerinfer::tokenizer
