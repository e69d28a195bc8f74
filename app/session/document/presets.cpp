#include "app/session/document/presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "app/session/document/document_json.hpp"
#include "app/session/document/embedded_names.hpp"
#include "assets/embedded.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/json_object.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

constexpr std::string_view kPresetFolder = "presets/";

/// The embedded presets in menu order, each parsed when it is first needed: some bring trained models.
class Shelf {
public:
    Shelf() : presets_(preset_names().size()), parsed_(std::make_unique<std::once_flag[]>(presets_.size())) {}
    const Preset& at(std::size_t place) {
        std::call_once(parsed_[place], [&] {
            const EmbeddedFile* file = find_embedded(embedded_assets(), fmt::format("{}{}.json", kPresetFolder, preset_names()[place]));
            if (file == nullptr) throw Error("the preset " + preset_names()[place] + " is not in a file of its name");
            presets_[place] = parse_preset(file->bytes, file->name);
        });
        return presets_[place];
    }
    /// Null if there is none of that name.
    const Preset* find(std::string_view name) {
        const auto it = std::find(preset_names().begin(), preset_names().end(), name);
        return it == preset_names().end() ? nullptr : &at(static_cast<std::size_t>(it - preset_names().begin()));
    }
    std::span<const Preset> all() {
        for (std::size_t i = 0; i < presets_.size(); ++i) at(i);
        return presets_;
    }

private:
    std::vector<Preset> presets_;
    std::unique_ptr<std::once_flag[]> parsed_;
};

Shelf& shelf() {
    static Shelf shelf;
    return shelf;
}

std::optional<Look> read_look_if_any(JsonObject& object, std::optional<Look> usual) {
    if (!usual && !object.has("view") && !object.has("stage")) return usual;
    Look look = usual.value_or(Look{});
    read_look(object, look);
    return look;
}

PresetSentence read_sentence(JsonObject& object, const std::optional<Look>& usual) {
    PresetSentence sentence;
    if (!object.read("title", sentence.title)) object.fail_missing("title");
    if (!object.read("texts", sentence.texts)) object.fail_missing("texts");
    if (sentence.texts.empty()) object.fail("texts", "expected at least one text, found none");
    object.read("source_texts", sentence.source_texts);
    if (!object.read("look_at", sentence.look_at)) object.fail_missing("look_at");
    sentence.look = read_look_if_any(object, usual);
    object.expect_no_more();
    return sentence;
}

/// The texts of all sentences, so that ids do not change with the chosen sentence.
std::vector<std::string> vocabulary_texts(const std::vector<PresetSentence>& sentences) {
    std::vector<std::string> texts;
    for (const PresetSentence& sentence : sentences) {
        texts.insert(texts.end(), sentence.source_texts.begin(), sentence.source_texts.end());
        texts.insert(texts.end(), sentence.texts.begin(), sentence.texts.end());
    }
    return texts;
}

}  // namespace

Preset parse_preset(std::string_view json, std::string_view source) {
    JsonObject object(json, source);
    Preset preset;
    if (!object.read("name", preset.name)) object.fail_missing("name");
    if (!object.read("title", preset.title)) object.fail_missing("title");
    if (!object.read("order", preset.order, 0, 1000)) object.fail_missing("order");
    Document& document = preset.document;
    std::vector<std::string> stages;
    object.read("look_stages", stages);
    for (const std::string& name : stages) {
        const std::optional<StageId> stage = stage_from_name(name);
        if (!stage) object.fail("look_stages", "there is no stage \"" + escaped(name) + "\"");
        preset.look_stages.push_back(*stage);
    }
    const std::optional<Look> look = read_look_if_any(object, {});
    if (object.has("sentences")) {
        std::vector<JsonObject> sentences = object.objects("sentences");
        if (sentences.empty()) object.fail("sentences", "expected at least one");
        for (JsonObject& sentence : sentences) preset.sentences.push_back(read_sentence(sentence, look));
        document.look_at = preset.sentences.front().look_at;
        document.texts = preset.sentences.front().texts;
        document.source_texts = preset.sentences.front().source_texts;
        read_model_fields(object, document);
    } else {
        if (!object.has("look_at")) object.fail_missing("look_at");
        read_document_fields(object, document);
        preset.sentences.push_back({"", document.texts, document.source_texts, document.look_at, look});
    }
    object.expect_no_more();
    document.preset = preset.name;
    // A trained model brings its own vocabulary.
    if (document.shipped == nullptr) document.vocabulary_texts = vocabulary_texts(preset.sentences);
    return preset;
}

const std::vector<std::string>& preset_names() {
    static const std::vector<std::string> kNames = embedded_names(kPresetFolder);
    return kNames;
}

std::span<const Preset> presets() { return shelf().all(); }

const Preset* preset_of(const Document& document) { return shelf().find(document.preset); }

Look opening_look(const Preset& preset, std::size_t sentence) {
    if (const std::optional<Look>& look = preset.sentences.at(sentence).look) return *look;
    const bool both = preset.document.config.architecture == Architecture::EncoderDecoder;
    Look look;
    if (!preset.look_stages.empty()) look.stage = preset.look_stages.front();
    else if (both) look.stage = {Stage::Weights, 0, Stack::Main, kCrossAttention};
    return look;
}

std::string_view look_at(const Document& document, const std::optional<StageId>& at) {
    if (document.forward.mistaken()) return mistake_info(document.forward.mistake).look;
    if (document.trained) return {};
    const PresetSentence* sentence = shown_sentence(document);
    if (sentence == nullptr) return {};
    const Preset& preset = find_preset(document.preset);
    const Document& own = preset.document;
    const bool same = own.tokenizer == document.tokenizer && own.special_tokens == document.special_tokens &&
                      own.shipped == document.shipped && own.config == document.config && own.forward == document.forward;
    const std::vector<StageId>& spoken_of = preset.look_stages;
    const bool there =
        !at || spoken_of.empty() || std::any_of(spoken_of.begin(), spoken_of.end(), [&](const StageId& id) { return same_role(id, *at); });
    return same && there ? std::string_view(sentence->look_at) : std::string_view();
}

const Preset& find_preset(std::string_view name) {
    if (const Preset* preset = shelf().find(name)) return *preset;
    throw Error(fmt::format("there is no preset \"{}\"; the presets are {}", escaped(name), fmt::join(preset_names(), ", ")));
}

Document open_preset(std::string_view name, std::size_t sentence) {
    const Preset& preset = find_preset(name);
    if (sentence >= preset.sentences.size())
        throw Error(
            fmt::format("there is no sentence {} in the preset {}, which has {}", sentence + 1, preset.name, preset.sentences.size()));
    Document document = preset.document;
    document.texts = preset.sentences[sentence].texts;
    document.source_texts = preset.sentences[sentence].source_texts;
    document.look_at = preset.sentences[sentence].look_at;
    return document;
}

const PresetSentence* shown_sentence(const Document& document) {
    if (!document.written.ids.empty()) return nullptr;
    const Preset* preset = preset_of(document);
    if (preset == nullptr) return nullptr;
    for (const PresetSentence& sentence : preset->sentences)
        if (sentence.texts == document.texts && sentence.source_texts == document.source_texts) return &sentence;
    return nullptr;
}

std::optional<Look> look_of(const Document& document) {
    const PresetSentence* sentence = document.trained ? nullptr : shown_sentence(document);
    return sentence == nullptr ? std::nullopt : sentence->look;
}

std::optional<Look> opening_look(const Document& document) { return document.look ? document.look : look_of(document); }

Look look_of_own_text(const Preset& preset) {
    Look look = opening_look(preset, 0);
    look.cell.clear();
    return look;
}

std::optional<Look> look_of_own_text(const Document& document) {
    const Preset* preset = document.trained ? nullptr : preset_of(document);
    return preset == nullptr ? std::nullopt : std::optional(look_of_own_text(*preset));
}

}  // namespace attn::app
