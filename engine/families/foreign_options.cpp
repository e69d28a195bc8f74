#include "engine/families/foreign_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace attn {
namespace {

constexpr std::array<std::string_view, 9> kForeign = {"attention_multiplier", "clip_qkv",    "embedding_multiplier", "logits_scaling",
                                                      "n_routed_experts",     "num_experts", "num_local_experts",    "residual_multiplier",
                                                      "use_qk_norm"};

/// A value that leaves everything as it is: none, off, or a factor or number of 1.
bool is_off(const Json& value) {
    const std::string text = value.dump(-1, Json::InvalidUtf8::Replace);
    constexpr std::array<std::string_view, 6> kOff = {"null", "false", "0", "0.0", "1", "1.0"};
    return std::find(kOff.begin(), kOff.end(), text) != kOff.end();
}

}  // namespace

std::vector<std::string> foreign_options(const JsonObject& json) {
    std::vector<std::string> set = json.unread();
    std::erase_if(set, [&](const std::string& key) {
        return std::find(kForeign.begin(), kForeign.end(), key) == kForeign.end() || is_off(*json.whole().find(key));
    });
    return set;
}

}  // namespace attn
