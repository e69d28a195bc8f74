#include "engine/tokenizer/component_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace attn {

std::string required_text(JsonObject& json, std::string_view key) {
    std::string text;
    if (!json.read(key, text)) json.fail_missing(key);
    return text;
}

std::string component_type(JsonObject& json, std::span<const ImpliedType> implied) {
    std::string type;
    if (json.read("type", type)) return type;
    for (const ImpliedType& known : implied)
        if (std::all_of(known.fields.begin(), known.fields.end(), [&](std::string_view field) { return json.has(field); }))
            return std::string(known.type);
    json.fail_missing("type");
}

TextPattern read_pattern(JsonObject& json) {
    JsonObject pattern = json.object("pattern");
    std::string text;
    const bool literal = pattern.read("String", text);
    if (!literal && !pattern.read("Regex", text)) pattern.fail_missing("Regex");
    pattern.expect_no_more();
    return at_field(json, "pattern", [&] { return literal ? TextPattern::literal(text) : TextPattern::regex(text); });
}

Vocabulary read_vocabulary(JsonObject& json, std::string_view key) {
    const Json* members = json.value(key);
    if (members == nullptr || !members->is_object()) json.fail(key, "expected an object that maps strings to ids", FileFault::Format);
    return at_field(json, key, [&] {
        Vocabulary vocabulary;
        for (const auto& [text, id] : members->members()) {
            if (!id.is_unsigned()) json.fail(key, fmt::format("the id of \"{}\" is not a whole number", escaped(text)), FileFault::Format);
            vocabulary.add(text,
                           static_cast<std::int64_t>(std::min<std::uint64_t>(id.as_unsigned(), std::numeric_limits<std::int64_t>::max())));
        }
        return vocabulary;
    });
}

void refuse_type(JsonObject& json, std::string_view kind, std::string_view type) {
    json.fail("type", fmt::format("attnscope does not support the {} \"{}\"", kind, escaped(type)), FileFault::Unsupported);
}

}  // namespace attn
