// The flags without which ordinary scripts for the older programs break, by program, against the help of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/options.h"

namespace powerinfer::tools {
namespace {

struct NeededFlags {
    const char* program;
    const char* flags;
};

const char* const kOld =
    "-m --model -n --n-predict -c --ctx-size -b --batch-size -t --threads -s --seed -p --prompt -f --file -e --escape "
    "-i --interactive -r --reverse-prompt --temp --top-k --top-p --min-p --repeat-penalty --repeat-last-n "
    "--frequency-penalty --presence-penalty --ignore-eos --grammar --grammar-file --mlock --no-mmap --numa -ngl "
    "--gpu-layers --n-gpu-layers --vram-budget --reset-gpu-index --disable-gpu-index --log-disable --log-enable --log-file "
    "--log-new --log-append --log-test -h --help";
const char* const kNew =
    "-m --model -a --alias -t -tb -c -n --predict --n-predict -b -ub --ubatch-size --no-context-shift --mlock --no-mmap "
    "--numa --check-tensors -ngl --gpu-layers --n-gpu-layers -sm -ts -mg -dev --list-devices --rpc -v --verbose "
    "--log-verbose -lv --verbosity --log-disable --log-file --log-colors --log-prefix --log-timestamps -p -f -bf "
    "--binary-file -e --no-escape -cnv --conversation -no-cnv --chat-template -i -if -mli -r --in-prefix-bos --in-prefix "
    "--in-suffix --no-display-prompt -s --seed --temp --top-k --top-p --min-p --repeat-last-n --repeat-penalty "
    "--presence-penalty --frequency-penalty -l --ignore-eos --grammar --grammar-file -j --json-schema -h --help --version";

const NeededFlags kNeeded[] = {
    {"main", kOld},
    {"perplexity", "-m -f -c -b --chunks --ppl-stride"},
    {"quantize", "--allow-requantize --leave-output-tensor --pure"},
    {"llama-completion", kNew},
    {"llama-cli", kNew},
    {"llama-bench",
     "-m -p -n -pg -b -ub -ctk -ctv -t -C --cpu-strict --poll -ngl -sm -mg -nkvo -fa -mmp --numa -embd -ts -r --prio --delay -o "
     "-oe -v --progress"},
    {"llama-quantize",
     "--allow-requantize --leave-output-tensor --pure --imatrix --include-weights --exclude-weights --output-tensor-type "
     "--token-embedding-type --keep-split --override-kv"},
    // Wanted, though scripts could live without them.
    {"llama-perplexity", "-m -f -c -b --chunks --ppl-stride --ppl-output-type --hellaswag --winogrande --multiple-choice "
                         "--kl-divergence --kl-divergence-base --save-all-logits"},
    {"llama-tokenize", "-m -p -f --stdin --ids --no-bos --no-escape --no-parse-special --show-count --log-disable"},
};

/// The names in a help text: words that begin with a dash, in the column of names.
std::vector<std::string> names_in(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("-")) continue;
        std::istringstream words(line.substr(0, line.find("  ")));
        for (std::string word; words >> word;) {
            if (word.ends_with(',')) word.pop_back();
            if (word.starts_with("-")) names.push_back(word);
        }
    }
    return names;
}

TEST(ScriptFlags, EveryProgramKnowsThoseThatScriptsNeed) {
    for (const NeededFlags& needed : kNeeded) {
        const std::vector<std::string> names = names_in(usage(*find_link(needed.program)));
        std::istringstream flags(needed.flags);
        for (std::string flag; flags >> flag;) EXPECT_THAT(names, testing::Contains(flag)) << needed.program;
    }
}

}  // namespace
}  // namespace powerinfer::tools
