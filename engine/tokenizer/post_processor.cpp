#include "engine/tokenizer/post_processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/io/utf8.hpp"
#include "engine/tokenizer/component_json.hpp"

namespace attn {
namespace {

using Parts = std::vector<EncodedPart>;
using ApplyPostProcessor = std::function<Parts(Parts, bool)>;

EncodedPart special(const std::vector<std::int32_t>& ids, std::int32_t type) {
    EncodedPart part;
    for (const std::int32_t id : ids) part.tokens.push_back({.id = id, .type = type, .from_template = true});
    return part;
}

void set_type(EncodedPart& part, std::int32_t type) {
    for (EncodedToken& token : part.tokens) token.type = type;
}

std::uint32_t forward(std::string_view text, std::uint32_t at, std::uint32_t characters, std::uint32_t limit) {
    for (; characters > 0 && at < limit; --characters) at += static_cast<std::uint32_t>(first_utf8(text.substr(at)).bytes);
    return std::min(at, limit);
}

std::uint32_t backward(std::string_view text, std::uint32_t at, std::uint32_t characters, std::uint32_t limit) {
    for (; characters > 0 && at > limit; --characters) {
        do --at;
        while (at > limit && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80);
    }
    return at;
}

/// Trims leading and trailing spaces from tokens' byte ranges, except a space that was added before the text.
void trim(EncodedPart& part, bool add_prefix_space) {
    for (std::size_t i = 0; i < part.tokens.size(); ++i) {
        EncodedToken& token = part.tokens[i];
        std::uint32_t before = token.spaces_before;
        if ((i == 0 || token.begin == 0) && add_prefix_space && before == 1) before = 0;
        token.begin = forward(part.text, token.begin, before, token.end);
        token.end = backward(part.text, token.end, token.spaces_after, token.begin);
    }
}

/// Each may be the whole text, so that a long template would multiply it.
constexpr std::size_t kMostTemplatePieces = 64;

/// An entry of a template: a text or special tokens.
struct TemplatePiece {
    int text = -1;  ///< 0 for A, 1 for B, -1 for special tokens
    std::vector<std::int32_t> ids;
    std::int32_t type = 0;
};

using SpecialIds = std::map<std::string, std::vector<std::int32_t>>;

SpecialIds read_special_ids(JsonObject& json) {
    SpecialIds special;
    std::optional<JsonObject> all = json.optional_object("special_tokens");
    if (!all) return special;
    for (const auto& [name, unused] : all->whole().members()) {
        JsonObject token = all->object(name);
        const Json* ids = token.value("ids");
        if (ids == nullptr || !ids->is_list()) token.fail("ids", "expected a list of ids", FileFault::Format);
        for (const Json& id : ids->items()) {
            if (!id.is_unsigned() || id.as_unsigned() >= static_cast<std::uint64_t>(Vocabulary::kMaxIds))
                token.fail("ids", "expected a list of ids", FileFault::Format);
            special[name].push_back(static_cast<std::int32_t>(id.as_unsigned()));
        }
    }
    return special;
}

std::vector<TemplatePiece> read_template(JsonObject& json, std::string_view key, const SpecialIds& special) {
    std::vector<TemplatePiece> pieces;
    for (JsonObject& entry : json.objects(key)) {
        std::optional<JsonObject> text = entry.optional_object("Sequence");
        std::optional<JsonObject> token = entry.optional_object("SpecialToken");
        if (text.has_value() == token.has_value()) entry.fail("", "expected a Sequence or a SpecialToken", FileFault::Format);
        JsonObject& given = text ? *text : *token;
        TemplatePiece& piece = pieces.emplace_back();
        if (pieces.size() > kMostTemplatePieces)
            json.fail(key, fmt::format("has more than {} entries", kMostTemplatePieces), FileFault::Limit);
        const std::string id = required_text(given, "id");
        given.read("type_id", piece.type, 0, 1 << 20);
        if (text) {
            if (id != "A" && id != "B") given.fail("id", "expected A or B");
            piece.text = id == "A" ? 0 : 1;
        } else {
            const auto found = special.find(id);
            if (found == special.end()) given.fail("id", "is not among the special_tokens", FileFault::Schema);
            piece.ids = found->second;
        }
    }
    return pieces;
}

ApplyPostProcessor read_template_processing(JsonObject& json) {
    const SpecialIds special_ids = read_special_ids(json);
    return [single = read_template(json, "single", special_ids), pair = read_template(json, "pair", special_ids)](Parts parts,
                                                                                                                  bool add_special) {
        Parts out;
        for (const TemplatePiece& piece : parts.size() == 2 ? pair : single) {
            if (piece.text < 0) {
                if (add_special) out.push_back(special(piece.ids, piece.type));
            } else if (static_cast<std::size_t>(piece.text) < parts.size()) {
                set_type(out.emplace_back(parts[static_cast<std::size_t>(piece.text)]), piece.type);
            }
        }
        return out;
    };
}

/// Reads "name": ["text", id].
std::int32_t read_pair_id(JsonObject& json, std::string_view key) {
    const Json* pair = json.value(key);
    const bool good = pair != nullptr && pair->is_list() && pair->size() == 2 && pair->items()[1].is_unsigned() &&
                      pair->items()[1].as_unsigned() < static_cast<std::uint64_t>(Vocabulary::kMaxIds);
    if (!good) json.fail(key, "expected [text, id]", FileFault::Format);
    return static_cast<std::int32_t>(pair->items()[1].as_unsigned());
}

ApplyPostProcessor bert(std::int32_t cls, std::int32_t sep) {
    return [cls, sep](Parts parts, bool add_special) {
        if (!add_special) return parts;
        Parts out{special({cls}, 0)};
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto type = static_cast<std::int32_t>(i);
            set_type(parts[i], type);
            out.push_back(std::move(parts[i]));
            out.push_back(special({sep}, type));
        }
        return out;
    };
}

ApplyPostProcessor read_bert_processor(JsonObject& json) {
    const std::int32_t cls = read_pair_id(json, "cls"), sep = read_pair_id(json, "sep");
    return bert(cls, sep);
}

ApplyPostProcessor read_roberta(JsonObject& json) {
    const std::int32_t cls = read_pair_id(json, "cls"), sep = read_pair_id(json, "sep");
    bool trimmed = true, add_prefix_space = true;
    json.read("trim_offsets", trimmed);
    json.read("add_prefix_space", add_prefix_space);
    return roberta_processing(cls, sep, trimmed, add_prefix_space).apply;
}

ApplyPostProcessor read_byte_level(JsonObject& json) {
    bool trimmed = true, add_prefix_space = true, use_regex = true;
    json.read("trim_offsets", trimmed);
    json.read("add_prefix_space", add_prefix_space);
    json.read("use_regex", use_regex);
    return [trimmed, add_prefix_space](Parts parts, bool) {
        if (trimmed)
            for (EncodedPart& part : parts) trim(part, add_prefix_space);
        return parts;
    };
}

ApplyPostProcessor read_post_processor_of(const std::string& type, JsonObject& json) {
    if (type == "TemplateProcessing") return read_template_processing(json);
    if (type == "BertProcessing") return read_bert_processor(json);
    if (type == "RobertaProcessing") return read_roberta(json);
    if (type == "ByteLevel") return read_byte_level(json);
    refuse_type(json, "post-processor", type);
}

}  // namespace

std::vector<PostProcessor> read_post_processors(JsonObject component) {
    static const std::array<ImpliedType, 3> kByFields = {{{"RobertaProcessing", {"sep", "cls", "trim_offsets", "add_prefix_space"}},
                                                          {"BertProcessing", {"sep", "cls"}},
                                                          {"TemplateProcessing", {"single", "pair", "special_tokens"}}}};
    return read_steps<PostProcessor>(std::move(component), "processors", kByFields, [](const std::string& type, JsonObject& json) {
        return PostProcessor{type, read_post_processor_of(type, json)};
    });
}

PostProcessor begin_and_end(std::optional<std::int32_t> begin, std::optional<std::int32_t> end, bool segments) {
    const auto ids = [](std::optional<std::int32_t> id) { return id ? std::vector{*id} : std::vector<std::int32_t>(); };
    return {"TemplateProcessing", [before = ids(begin), behind = ids(end), segments](Parts parts, bool add_special) {
                if (!add_special) return parts;
                Parts out;
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    const auto type = segments ? static_cast<std::int32_t>(i) : 0;
                    out.push_back(special(before, type));
                    set_type(out.emplace_back(std::move(parts[i])), type);
                    out.push_back(special(behind, type));
                }
                return out;
            }};
}

PostProcessor roberta_processing(std::int32_t cls, std::int32_t sep, bool trimmed, bool add_prefix_space) {
    return {"RobertaProcessing", [=](Parts parts, bool add_special) {
                Parts out;
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    if (trimmed) trim(parts[i], add_prefix_space);
                    set_type(parts[i], 0);  // RoBERTa has no segments
                    if (add_special) out.push_back(special({i == 0 ? cls : sep}, 0));
                    out.push_back(std::move(parts[i]));
                    if (add_special) out.push_back(special({sep}, 0));
                }
                return out;
            }};
}

PostProcessor bert_processing(std::int32_t cls, std::int32_t sep) { return {"BertProcessing", bert(cls, sep)}; }

}  // namespace attn
