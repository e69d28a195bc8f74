#include "engine/tokenizer/tokenizer_config.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

std::optional<Json> read_object(const fs::path& path) {
    if (!has_entry(path)) return std::nullopt;
    const std::string source = escaped(path.native(), 0);
    Json json = Json::parse(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), source, kSettingsLimits);
    if (!json.is_object()) throw FileError(FileFault::Format, source, "/", "expected an object");
    return json;
}

std::optional<bool> truth_of(const Json& json, std::string_view key) {
    const Json* value = json.find(key);
    return value != nullptr && value->is_boolean() ? std::optional(value->boolean()) : std::nullopt;
}

std::string text_of(const Json& json, std::string_view key) {
    const Json* value = json.find(key);
    return value != nullptr && value->is_string() ? value->text() : "";
}

/// A token as a string, which is special, or as an object with its flags. `special`: what holds of an object that does not say.
std::optional<AddedToken> token_of(const Json& json, bool special) {
    if (json.is_string()) return AddedToken{.id = kTokenFromString, .content = json.text(), .special = true};
    if (!json.is_object() || text_of(json, "content").empty()) return std::nullopt;
    AddedToken token{.id = kTokenFromObject, .content = text_of(json, "content")};
    token.special = truth_of(json, "special").value_or(special);
    token.single_word = truth_of(json, "single_word").value_or(false);
    token.lstrip = truth_of(json, "lstrip").value_or(false);
    token.rstrip = truth_of(json, "rstrip").value_or(false);
    token.normalized = truth_of(json, "normalized").value_or(!token.special);
    return token;
}

std::vector<AddedToken> tokens_in(const Json& list, bool special) {
    std::vector<AddedToken> tokens;
    if (list.is_list())
        for (const Json& item : list.items())
            if (std::optional<AddedToken> token = token_of(item, special)) tokens.push_back(std::move(*token));
    return tokens;
}

bool is_role(std::string_view key) { return std::find(kTokenRoles.begin(), kTokenRoles.end(), key) != kTokenRoles.end(); }

void read_named_tokens(const Json& json, bool special, TokenizerConfig& config) {
    for (std::size_t role = 0; role < kTokenRoles.size(); ++role)
        if (const Json* value = json.find(kTokenRoles.at(role))) {
            if (value->is_null()) config.tokens.at(role) = AddedToken{};
            else if (auto token = token_of(*value, special)) config.tokens.at(role) = std::move(token);
        }
}

void read_further_tokens(const Json& json, TokenizerConfig& config) {
    std::unordered_map<std::string, std::size_t> places;
    for (const auto& [name, token] : config.further) places.emplace(name, places.size());
    const auto set = [&](const std::string& name, const Json& value) {
        std::optional<AddedToken> token = token_of(value, true);
        if (!token) return;
        const auto [place, fresh] = places.try_emplace(name, config.further.size());
        if (fresh) config.further.emplace_back(name, std::move(*token));
        else config.further[place->second].second = std::move(*token);
    };
    for (const auto& [name, value] : json.members())
        if (std::string_view(name).ends_with("_token") && !is_role(name)) set(name, value);
    if (const Json* named = json.find("extra_special_tokens"); named != nullptr && named->is_object())
        for (const auto& [name, value] : named->members()) set(name, value);
}

void read_options(const Json& json, TokenizerConfig& config) {
    config.add_bos_token = truth_of(json, "add_bos_token");
    config.add_eos_token = truth_of(json, "add_eos_token");
    config.add_prefix_space = truth_of(json, "add_prefix_space");
    config.legacy = truth_of(json, "legacy");
    config.do_lower_case = truth_of(json, "do_lower_case");
    config.strip_accents = truth_of(json, "strip_accents");
    config.tokenize_chinese_chars = truth_of(json, "tokenize_chinese_chars");
    config.split_special_tokens = truth_of(json, "split_special_tokens");
    if (const Json* count = json.find("extra_ids"); count != nullptr && count->is_unsigned())
        config.extra_ids = static_cast<std::int32_t>(std::min<std::uint64_t>(count->as_unsigned(), Vocabulary::kMaxIds));
}

void read_extra_tokens(const Json& json, TokenizerConfig& config) {
    const Json *former = json.find("additional_special_tokens"), *extra = json.find("extra_special_tokens");
    if (extra == nullptr) extra = former;
    if (extra != nullptr && !extra->is_object()) config.extra = tokens_in(*extra, false);
}

/// {"50257": {"content": "<pad>", ...}, ...}
void read_added_tokens_decoder(const Json& json, TokenizerConfig& config) {
    for (const auto& [key, value] : json.members()) {
        std::int32_t id = -1;
        const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), id);
        std::optional<AddedToken> token = token_of(value, false);
        if (problem != std::errc() || end != key.data() + key.size() || !token) continue;
        token->id = id;
        config.added.push_back(std::move(*token));
    }
}

/// {"<pad>": 50257, ...}; special are those that are named elsewhere, as far as transformers notices.
void read_added_tokens_file(const Json& json, TokenizerConfig& config) {
    std::set<std::string_view> named;
    const auto name = [&](const AddedToken& token) {
        if (token.id == kTokenFromString || token.special) named.insert(token.content);
    };
    for (const std::optional<AddedToken>& token : config.tokens)
        if (token) name(*token);
    if (config.extra)
        for (const AddedToken& token : *config.extra) name(token);
    for (const auto& [text, id] : json.members()) {
        if (!id.is_unsigned() || text.empty()) continue;
        const bool special = named.contains(text);
        const std::uint64_t number = std::min<std::uint64_t>(id.as_unsigned(), Vocabulary::kMaxIds);
        config.added.push_back({.id = static_cast<std::int32_t>(number), .content = text, .normalized = !special, .special = special});
    }
}

/// Of several with the same id the last one counts.
void sort_by_id(std::vector<AddedToken>& tokens) {
    std::map<std::int32_t, AddedToken> by_id;
    for (AddedToken& token : tokens) by_id.insert_or_assign(token.id, std::move(token));
    tokens.clear();
    for (auto& [id, token] : by_id) tokens.push_back(std::move(token));
}

/// What older versions wrote beside tokenizer_config.json.
void read_former_files(const fs::path& folder, TokenizerConfig& config) {
    if (const std::optional<Json> map = read_object(folder / "special_tokens_map.json")) {
        read_named_tokens(*map, true, config);
        read_further_tokens(*map, config);
        if (const Json* former = map->find("additional_special_tokens")) config.map_extra = tokens_in(*former, true);
        if (const Json* extra = map->find("extra_special_tokens"); extra != nullptr && extra->is_list()) {
            if (!config.extra) config.extra.emplace();
            for (AddedToken& token : tokens_in(*extra, true)) config.extra->push_back(std::move(token));
        }
    }
    if (const std::optional<Json> added = read_object(folder / "added_tokens.json")) read_added_tokens_file(*added, config);
}

}  // namespace

TokenizerConfig read_tokenizer_config(const fs::path& folder) {
    TokenizerConfig config;
    const auto name_class = [&](const Json& json, const fs::path& place) {
        if (!config.tokenizer_class.empty()) return;
        config.tokenizer_class = text_of(json, "tokenizer_class");
        config.class_place = place;
    };
    bool lists_added = false;
    const fs::path own_place = folder / "tokenizer_config.json", model_place = folder / "config.json";
    if (const std::optional<Json> own = read_object(own_place)) {
        config.of_transformers = true;
        name_class(*own, own_place);
        read_options(*own, config);
        read_named_tokens(*own, false, config);
        read_further_tokens(*own, config);
        read_extra_tokens(*own, config);
        const Json* added = own->find("added_tokens_decoder");
        lists_added = added != nullptr && added->is_object();
        if (lists_added) read_added_tokens_decoder(*added, config);
    }
    if (!lists_added) read_former_files(folder, config);
    if (const std::optional<Json> model = read_object(model_place)) {
        config.model_type = text_of(*model, "model_type");
        name_class(*model, model_place);
        config.of_transformers = config.of_transformers || !config.model_type.empty();
    }
    sort_by_id(config.added);
    return config;
}

}  // namespace attn
