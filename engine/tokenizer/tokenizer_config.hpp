#pragma once
/// What the JSON files in a folder of transformers say of its tokenizer, besides the vocabulary.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tokenizer/added_tokens.hpp"

namespace attn {

/// What a special token is for, in the order in which transformers adds them.
enum class TokenRole : std::uint8_t { Begin, End, Unknown, Separator, Padding, Classifier, Mask };
inline constexpr std::array<std::string_view, 7> kTokenRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                                "pad_token", "cls_token", "mask_token"};

/// Instead of ids, what a token was written as: two strings are the same token, but a string and an object are two, of which the later
/// one's flags count.
inline constexpr std::int32_t kTokenFromString = -1, kTokenFromObject = -2;

struct TokenizerConfig {
    bool of_transformers = false;       ///< tokenizer_config.json is there, or a config.json that names a model type
    std::string tokenizer_class;        ///< "LlamaTokenizer"; may be empty
    std::filesystem::path class_place;  ///< the file that names it
    std::string model_type;             ///< config.json's; may be empty
    /// By role: missing where the class decides, without text where there is none.
    std::array<std::optional<AddedToken>, kTokenRoles.size()> tokens;
    std::vector<std::pair<std::string, AddedToken>> further;  ///< under other names that end in "_token"
    std::optional<std::vector<AddedToken>> extra;             ///< extra_special_tokens, formerly additional_special_tokens
    std::optional<std::vector<AddedToken>> map_extra;  ///< additional_special_tokens of special_tokens_map.json, which some classes replace
    std::vector<AddedToken> added;                     ///< those that the files list, by their ids there, ascending
    std::optional<bool> add_bos_token, add_eos_token, add_prefix_space, legacy;
    std::optional<bool> do_lower_case, strip_accents, tokenize_chinese_chars, split_special_tokens;
    std::optional<std::int32_t> extra_ids;  ///< T5's number of sentinels

    const std::optional<AddedToken>& token(TokenRole role) const { return tokens.at(static_cast<std::size_t>(role)); }
};

/// From tokenizer_config.json and config.json; where the former lists no added tokens, also from special_tokens_map.json and
/// added_tokens.json. Empty if the folder has none of them. Throws FileError if one is no JSON object; fields of unexpected types are
/// ignored.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace attn
