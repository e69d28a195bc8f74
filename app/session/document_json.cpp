#include "app/session/document_json.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/io/atomic_file.hpp"
#include "engine/io/config_json.hpp"
#include "engine/io/input_file.hpp"

namespace attn::app {

namespace {

constexpr std::string_view kFormat = "attnscope-document/1";
constexpr std::array<std::string_view, 3> kTokenizers{"character", "word", "byte"};  // in the order of TokenizerKind

}  // namespace

void read_document_fields(JsonObject& object, Document& document) {
    object.read("look_at", document.look_at);
    if (!object.read("texts", document.texts)) object.fail_missing("texts");
    if (document.texts.empty()) object.fail("texts", "there has to be at least one text");
    object.read("source_texts", document.source_texts);
    std::size_t tokenizer = 0;
    if (object.read_choice("tokenizer", kTokenizers, tokenizer)) document.tokenizer = static_cast<TokenizerKind>(tokenizer);
    object.read("special_tokens", document.special_tokens);
    if (object.has("config")) document.config = config_from_json(object.object("config"));
    if (object.has("forward")) document.forward = forward_settings_from_json(object.object("forward"));
}

std::string document_to_json(const Document& document) {
    nlohmann::ordered_json json;
    json["format"] = kFormat;
    json["preset"] = document.preset;
    json["look_at"] = document.look_at;
    json["texts"] = document.texts;
    json["source_texts"] = document.source_texts;
    json["tokenizer"] = tokenizer_name(document.tokenizer);
    json["special_tokens"] = document.special_tokens;
    json["vocabulary_texts"] = document.vocabulary_texts;
    json["config"] = to_json(document.config);
    json["forward"] = to_json(document.forward);
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Document document_from_json(std::string_view text, std::string_view source) {
    JsonObject object(text, source);
    std::string format;
    if (!object.read("format", format)) object.fail_missing("format");
    if (format != kFormat) object.fail("format", "this program reads \"" + std::string(kFormat) + "\"");
    Document document;
    object.read("preset", document.preset);
    object.read("vocabulary_texts", document.vocabulary_texts);
    read_document_fields(object, document);
    object.expect_no_more();
    return document;
}

void save_document(const std::filesystem::path& path, const Document& document) { write_whole_file(path, document_to_json(document)); }

Document load_document(const std::filesystem::path& path) {
    return document_from_json(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), path.string());
}

}  // namespace attn::app
