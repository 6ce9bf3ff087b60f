// The table of names. Patterns are those that published tokenizer.json files carry (facts of the file
// format), with \s meaning White_Space; where another engine approximates a pattern, the published one stands
// here.
#include "tokenizer/pretokenizers.h"

#include <algorithm>
#include <array>

namespace powerinfer::tokenizer {
namespace {

using Stage = std::string_view;

// Pieces of patterns. Macros, because adjacent literals are joined at compile time.
#define CONTRACTION R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define SPACES R"(\s+(?!\S)|\s+)"
#define UPPER R"(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})"
#define LOWER R"(\p{Ll}\p{Lm}\p{Lo}\p{M})"
#define LLAMA3(numbers, tail) \
    CONTRACTION R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)" numbers R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)" tail
#define GPT4O(numbers)                                                                                       \
    R"([^\r\n\p{L}\p{N}]?[)" UPPER "]*[" LOWER "]+" CONTRACTION R"(?|[^\r\n\p{L}\p{N}]?[)" UPPER "]+[" LOWER \
    "]*" CONTRACTION "?|" numbers R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|)" SPACES
// UPPER and LOWER without Han, as complements: PCRE2 has no intersection of sets.
#define UPPER_NOT_HAN R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])"
#define LOWER_NOT_HAN R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])"
#define GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))"
#define DEEPSEEK3_WORDS                                                                        \
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)" \
    R"( ?[\p{P}\p{S}]+)"
#define DIGIT_THREES "[0-9][0-9][0-9]"
#define NOT_SENTENCE R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C}]+)"

// The cased letters of an older Unicode version, as the DeepSeek LLM file lists them.
constexpr Stage kDeepSeekLetters =
    R"(\s?[)"
    R"(\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF})"
    R"(\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
    R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"
    R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B})"
    R"(\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})"
    R"(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
    R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"
    R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3})"
    R"(\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr Stage kCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr Stage kLlama3 = LLAMA3(R"(\p{N}{1,3})", SPACES);
constexpr Stage kQwen2 = LLAMA3(R"(\p{N})", SPACES);
constexpr Stage kGpt4o = GPT4O(R"(\p{N}{1,3})");
constexpr Stage kDeepSeek3Words = DEEPSEEK3_WORDS R"([\r\n]*|\s*[\r\n]+|)" SPACES;

constexpr std::array kGpt2 = {Stage(GPT2)};
constexpr std::array kDigitsGpt2 = {Stage(R"(\p{N})"), Stage(GPT2)};
// Falcon's file isolates numbers after the byte-level mapping, where byte 0xBD looks like one half. Its
// merges never cross such a place, so the ids are the same without that stage; isolating real numbers instead
// would change them.
constexpr std::array kFalcon = {Stage(R"([\p{P}\$\+<=>\^~\|`]+)"), Stage(GPT2), Stage(DIGIT_THREES)};
constexpr std::array kDefault = {Stage(R"([\p{P}\$\+<=>\^~\|]+)"), Stage(GPT2), Stage(R"(\p{N}+)"),
                                 Stage(DIGIT_THREES)};
constexpr std::array kLlamaBpe = {kLlama3};
constexpr std::array kJais2 = {Stage(
    LLAMA3(R"(\p{N}{1,3})", R"(\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|)"
                            R"(\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"))};
constexpr std::array kMiniCpm5 = {Stage(R"(\p{N}{1,3})"), Stage(LLAMA3(R"(\p{N}+)", SPACES))};
constexpr std::array kQwen = {kQwen2};
constexpr std::array kUfakZeka = {
    Stage(R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)" SPACES)};
constexpr std::array kLaguna = {Stage(R"([^\n]+|[\n]+)"), kQwen2};
constexpr std::array kQwen35 = {
    Stage(CONTRACTION
          R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|)" SPACES)};
// `(?<!\s)\s+\z` finds what `\s+$` finds, without trying every start inside a long run.
constexpr std::array kDeepSeekLlm = {
    Stage(R"([\r\n])"),
    kDeepSeekLetters,
    Stage(R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"),
    Stage(R"((?<!\s)\s+\z)"),
    kCjk,
    Stage(R"(\p{N}+)")};
constexpr std::array kDeepSeekCoder = {Stage(R"([\r\n])"), Stage(R"(\s?\p{L}+)"), Stage(R"(\s?\p{P}+)"), kCjk,
                                       Stage(R"(\p{N})")};
constexpr std::array kDeepSeek3 = {Stage(R"(\p{N}{1,3})"),
                                   Stage(R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"),
                                   kDeepSeek3Words};
constexpr std::array kSpark = {kDeepSeek3[0], kDeepSeek3[1], Stage(DEEPSEEK3_WORDS R"(|[\r\n]|)" SPACES),
                               Stage(R"(\p{N})")};
constexpr std::array kAfMoe = {
    kThreesFromRight,
    Stage(
        R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})"
        R"(\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
        R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)"),
    kDeepSeek3Words};
constexpr std::array kTekken = {Stage(R"([^\r\n\p{L}\p{N}]?[)" UPPER "]*[" LOWER
                                      R"(]+|[^\r\n\p{L}\p{N}]?[)" UPPER "]+[" LOWER "]*"
                                      R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|)" SPACES)};
constexpr std::array kGpt4oStages = {kGpt4o};
constexpr std::array kTinyAya = {kThreesFromRight, kGpt4o};
constexpr std::array kYoutu = {
    Stage(
        R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A})"
        R"(\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+)"),
    Stage(GPT4O(R"(\p{N})"))};
constexpr std::array kKimi = {Stage(R"(\p{Han}+|[^\r\n\p{L}\p{N}]?)" UPPER_NOT_HAN "*" LOWER_NOT_HAN
                                    "+" CONTRACTION R"(?|[^\r\n\p{L}\p{N}]?)" UPPER_NOT_HAN "+" LOWER_NOT_HAN
                                    "*" CONTRACTION
                                    R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)" SPACES)};
constexpr std::array kBailing = {Stage(
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|)" SPACES)};
constexpr std::array kSeed = {
    Stage(CONTRACTION R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|)" SPACES)};
constexpr std::array kExaoneMoe = {Stage(
    CONTRACTION
    R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|)" SPACES)};
constexpr std::array kSuperBpe = {Stage(R"(\p{N}+)"), kThreesFromRight};
constexpr std::array kPoro = {Stage(NOT_SENTENCE)};
constexpr std::array kViking = {Stage(NOT_SENTENCE), Stage(R"(\p{N})")};
constexpr std::array kChameleon = {
    Stage("<sentinel:[0-9]+>"),       Stage("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"),
    Stage(R"(([\t\n]|    |  ))"),     Stage(R"(\p{N})"),
    Stage(R"([\p{P}!-/:-@\[-`{-~])"), Stage(GPT2)};
constexpr std::array kLines = {Stage(R"([^\n]+|[\n]+)")};

// The first row of equal stages and flags is the name that a converted tokenizer.json gets.
constexpr PreTokenizerInfo kRows[] = {
    {.name = "gpt-2", .stages = kGpt2},
    {.name = "phi-2", .stages = kGpt2},
    {.name = "mpt", .stages = kGpt2},
    {.name = "olmo", .stages = kGpt2},
    {.name = "jais", .stages = kGpt2},
    {.name = "roberta-bpe", .stages = kGpt2},
    {.name = "gigachat", .stages = kGpt2},
    {.name = "jina-es", .stages = kGpt2},
    {.name = "jina-de", .stages = kGpt2},
    {.name = "jina-v1-en", .stages = kGpt2},
    {.name = "jina-v2-es", .stages = kGpt2},
    {.name = "jina-v2-de", .stages = kGpt2},
    {.name = "jina-v2-code", .stages = kGpt2},
    {.name = "a.x-4.0", .stages = kGpt2},
    {.name = "mellum", .stages = kGpt2},
    {.name = "modern-bert", .stages = kGpt2},
    {.name = "exaone4", .stages = kGpt2},
    {.name = "trillion", .stages = kGpt2},
    {.name = "granite-docling", .stages = kGpt2},

    {.name = "starcoder", .stages = kDigitsGpt2},
    {.name = "refact", .stages = kDigitsGpt2},
    {.name = "command-r", .stages = kDigitsGpt2},
    {.name = "smollm", .stages = kDigitsGpt2},
    {.name = "codeshell", .stages = kDigitsGpt2},
    {.name = "exaone", .stages = kDigitsGpt2},
    {.name = "minerva-7b", .stages = kDigitsGpt2},
    {.name = "mellum2", .stages = kDigitsGpt2},

    {.name = "llama-bpe", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "llama3", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "falcon3", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "falcon-h1", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "pixtral", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "midm-2.0", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "lfm2", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "jina-v5-nano", .stages = kLlamaBpe, .ignore_merges = true, .add_bos = true},
    {.name = "glm4", .stages = kLlamaBpe, .ignore_merges = true},
    {.name = "glm5", .stages = kLlamaBpe, .ignore_merges = true},
    {.name = "dbrx", .stages = kLlamaBpe},
    {.name = "smaug-bpe", .stages = kLlamaBpe},
    {.name = "chatglm-bpe", .stages = kLlamaBpe},
    {.name = "jais-2", .stages = kJais2},
    {.name = "minicpm5", .stages = kMiniCpm5, .ignore_merges = true},

    {.name = "qwen2", .stages = kQwen},
    {.name = "deepseek-r1-qwen", .stages = kQwen},
    {.name = "stablelm2", .stages = kQwen},
    {.name = "megrez", .stages = kQwen},
    {.name = "kormo", .stages = kQwen},
    {.name = "f2llmv2", .stages = kQwen},
    {.name = "hunyuan", .stages = kQwen},
    {.name = "solar-open", .stages = kQwen},
    {.name = "grok-2", .stages = kQwen},
    {.name = "ufakzeka", .stages = kUfakZeka},
    {.name = "laguna", .stages = kLaguna},
    {.name = "qwen35", .stages = kQwen35},

    {.name = "falcon", .stages = kFalcon},
    {.name = "default", .stages = kDefault},
    {.name = "deepseek-llm", .stages = kDeepSeekLlm},
    {.name = "deepseek-coder", .stages = kDeepSeekCoder},
    {.name = "deepseek-v3", .stages = kDeepSeek3},
    {.name = "hunyuan-dense", .stages = kDeepSeek3},
    {.name = "joyai-llm", .stages = kDeepSeek3},
    {.name = "hy_v4", .stages = kDeepSeek3},
    {.name = "spark2_5", .stages = kSpark},
    {.name = "afmoe", .stages = kAfMoe},

    {.name = "tekken", .stages = kTekken, .ignore_merges = true, .add_bos = true},
    {.name = "gpt-4o", .stages = kGpt4oStages},
    {.name = "llama4", .stages = kGpt4oStages},
    {.name = "kanana2", .stages = kGpt4oStages},
    {.name = "talkie", .stages = kGpt4oStages},
    {.name = "minimax-m2", .stages = kGpt4oStages},
    {.name = "granite-embed-multi-97m", .stages = kGpt4oStages, .ignore_merges = true},
    {.name = "tiny_aya", .stages = kTinyAya},
    {.name = "cohere2moe", .stages = kTinyAya},
    {.name = "youtu", .stages = kYoutu, .ignore_merges = true},
    {.name = "kimi-k2", .stages = kKimi},
    {.name = "bailingmoe", .stages = kBailing},
    {.name = "bailingmoe2", .stages = kBailing},
    {.name = "llada-moe", .stages = kBailing},
    {.name = "seed-coder", .stages = kSeed},
    {.name = "exaone-moe", .stages = kExaoneMoe},
    {.name = "superbpe", .stages = kSuperBpe},

    {.name = "poro-chat", .stages = kPoro},
    {.name = "bloom", .stages = kPoro},
    {.name = "gpt3-finnish", .stages = kPoro},
    {.name = "viking", .stages = kViking},
    {.name = "chameleon", .stages = kChameleon, .add_bos = true},

    {.name = "gemma4",
     .stages = kLines,
     .add_bos = true,
     .alphabet = Alphabet::characters,
     .whole_newlines = true},
    {.name = "granite-embed-multi-311m", .stages = kLines, .alphabet = Alphabet::characters},
    {.name = "sarvam-moe", .stages = kLines, .alphabet = Alphabet::characters},
};

}  // namespace

const std::string_view kGpt2Pattern = GPT2;
const std::string_view kPunctuationPattern = kFalcon[0];

const PreTokenizerInfo* find_pre_tokenizer(std::string_view name) {
    const auto* row = std::ranges::find(kRows, name, &PreTokenizerInfo::name);
    return row == std::end(kRows) ? nullptr : row;
}

std::vector<std::string_view> pre_tokenizer_names() {
    std::vector<std::string_view> names;
    for (const PreTokenizerInfo& row : kRows) names.push_back(row.name);
    return names;
}

}  // namespace powerinfer::tokenizer
