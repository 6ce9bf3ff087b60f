// The `config.json` of a Hugging Face folder: typed access, older and newer key styles, errors that name file
// and key. Not for deciding what the values mean to a model: see families/.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::convert {

/// A key is "given" when it is there and not null. Where several names are passed, the first one given
/// counts.
class HfConfig {
  public:
    using Names = std::initializer_list<std::string_view>;

    /// Reads `FOLDER/config.json`; throws Error{io | bad_file}.
    static HfConfig read(const std::string& folder);
    static HfConfig parse(std::string_view text, const std::string& path);

    const std::string& path() const { return path_; }
    bool has(std::string_view key) const;

    // Optional access: nothing when the key is not given, Error{bad_file} when it has another kind of value.
    // Integers must lie in [0, 2^31).
    std::optional<int64_t> find_integer(Names names) const;
    std::optional<double> find_number(Names names) const;
    std::optional<bool> find_bool(Names names) const;
    std::optional<std::string> find_string(Names names) const;
    std::vector<std::string> strings(std::string_view key) const;  ///< empty when not given
    std::optional<HfConfig> find_object(Names names) const;

    // Required access: throws Error{bad_file} naming the key; counts must be at least 1.
    int64_t count(Names names) const;
    double number(Names names) const;

  private:
    struct Tree;
    std::shared_ptr<const Tree> tree_;
    std::string path_;
};

/// The position embedding of a config, with the differences between key styles removed: `rope_parameters`, or
/// `rope_scaling` beside a top-level `rope_theta`; `rope_type` or `type`.
struct HfRope {
    std::string type = "default";  ///< "default", "linear", "llama3", "yarn", "dynamic", ...
    double theta = 10000.0;
    bool theta_is_given = false;
    double factor = 1.0;
    std::optional<int64_t> n_ctx_original;
    double low_freq_factor = 1.0, high_freq_factor = 4.0;            ///< llama3
    std::optional<double> attention_factor, mscale, mscale_all_dim;  ///< yarn
    std::optional<double> beta_fast, beta_slow;                      ///< yarn
    bool truncate = true;                                            ///< yarn
};
HfRope read_rope(const HfConfig& config);

}  // namespace powerinfer::convert
