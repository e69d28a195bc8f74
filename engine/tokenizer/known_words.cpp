#include "engine/tokenizer/known_words.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "engine/io/json.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tokenizer/character_class.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {
namespace {

bool is_one_character(std::string_view word) { return !word.empty() && first_utf8(word).bytes == word.size(); }

bool has_white_space(std::string_view word) {
    while (!word.empty()) {
        const Utf8Unit unit = first_utf8(word);
        if (is_white_space(unit.code_point)) return true;
        word.remove_prefix(unit.bytes);
    }
    return false;
}

Json added_token(const std::string& word, std::size_t id) {
    Json token;
    token["id"] = id;
    token["content"] = word;
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized", "special"}) token[flag] = false;
    return token;
}

Json component(const char* type) {
    Json json;
    json["type"] = type;
    return json;
}

}  // namespace

bool is_bracketed(std::string_view word) {
    return word.size() > 2 && ((word.starts_with('<') && word.ends_with('>')) || (word.starts_with('[') && word.ends_with(']')));
}

std::string tokenizer_json_of(std::span<const std::string> words) {
    bool any = false, characters = true, readable = true;
    std::set<std::string> all;
    std::vector<std::string> texts(words.begin(), words.end());
    for (std::size_t id = 0; id < texts.size(); ++id) {
        std::string& word = texts[id];
        if (word.empty()) {
            word = unused_name(id);
        } else {
            any = true;
            characters = characters && (is_one_character(word) || is_bracketed(word));
        }
        readable = readable && !find_invalid_utf8(word) && all.insert(word).second;
    }
    if (!any || !readable) return "";
    if (!characters && std::any_of(texts.begin(), texts.end(), has_white_space)) return "";
    Json vocabulary = characters ? Json::list() : Json::object(), added = Json::list();
    for (std::size_t id = 0; id < texts.size(); ++id) {
        if (characters) vocabulary.push_back(Json::List{Json(texts[id]), Json(0.0)});
        else vocabulary.members().emplace_back(texts[id], Json(id));
        if (characters && !is_one_character(texts[id])) added.push_back(added_token(texts[id], id));
    }
    // Neither has a token for text that it does not know: such a text is refused.
    Json model = component(characters ? "Unigram" : "WordLevel");
    model["vocab"] = std::move(vocabulary);
    model[characters ? "unk_id" : "unk_token"] = characters ? Json(nullptr) : Json("<unk>");
    Json json;
    json["version"] = "1.0";
    json["added_tokens"] = std::move(added);
    json["normalizer"] = nullptr;
    json["pre_tokenizer"] = characters ? Json(nullptr) : component("WhitespaceSplit");
    json["post_processor"] = nullptr;
    json["decoder"] = characters ? component("Fuse") : Json(nullptr);
    json["model"] = std::move(model);
    return json.dump(1) + "\n";
}

}  // namespace attn
