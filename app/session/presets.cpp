#include "app/session/presets.hpp"

#include <algorithm>
#include <utility>

#include "app/session/document_json.hpp"
#include "assets/embedded.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

constexpr std::string_view kPresetFolder = "presets/";

std::vector<Preset> parse_embedded_presets() {
    std::vector<Preset> all;
    for (const EmbeddedFile& file : embedded_assets())
        if (file.name.starts_with(kPresetFolder)) all.push_back(parse_preset(file.bytes, file.name));
    std::sort(all.begin(), all.end(),
              [](const Preset& a, const Preset& b) { return std::pair(a.order, a.name) < std::pair(b.order, b.name); });
    return all;
}

}  // namespace

Preset parse_preset(std::string_view json, std::string_view source) {
    JsonObject object(json, source);
    Preset preset;
    if (!object.read("name", preset.name)) object.fail_missing("name");
    if (!object.read("title", preset.title)) object.fail_missing("title");
    if (!object.read("order", preset.order, 0, 1000)) object.fail_missing("order");
    if (!object.has("look_at")) object.fail_missing("look_at");
    std::vector<std::string> stages;
    object.read("look_stages", stages);
    for (const std::string& name : stages) {
        const std::optional<Stage> stage = stage_from_name(name);
        if (!stage) object.fail("look_stages", "there is no stage \"" + escaped(name) + "\"");
        preset.look_stages.push_back(*stage);
    }
    read_document_fields(object, preset.document);
    object.expect_no_more();
    preset.document.preset = preset.name;
    std::vector<std::string>& vocabulary = preset.document.vocabulary_texts;
    vocabulary = preset.document.source_texts;
    vocabulary.insert(vocabulary.end(), preset.document.texts.begin(), preset.document.texts.end());
    return preset;
}

std::span<const Preset> presets() {
    static const std::vector<Preset> kAll = parse_embedded_presets();
    return kAll;
}

StageId opening_stage(std::string_view name) {
    for (const Preset& preset : presets()) {
        if (preset.name != name) continue;
        const bool both = preset.document.config.architecture == Architecture::EncoderDecoder;
        const Stage stage = !preset.look_stages.empty() ? preset.look_stages.front() : both ? Stage::CrossWeights : Stage::Scores;
        return {stage, is_layer_stage(stage) ? 0 : -1};
    }
    return {Stage::Scores, 0};
}

std::string_view look_at(const Document& document, std::optional<Stage> at) {
    if (document.forward.mistake != Mistake::None) return mistake_info(document.forward.mistake).look;
    if (document.trained) return {};
    for (const Preset& preset : presets()) {
        const Document& own = preset.document;
        if (preset.name == document.preset && own.texts == document.texts && own.source_texts == document.source_texts &&
            own.tokenizer == document.tokenizer && own.special_tokens == document.special_tokens && own.config == document.config &&
            own.forward == document.forward) {
            const std::vector<Stage>& spoken_of = preset.look_stages;
            const bool there = !at || spoken_of.empty() || std::find(spoken_of.begin(), spoken_of.end(), *at) != spoken_of.end();
            return there ? std::string_view(own.look_at) : std::string_view();
        }
    }
    return {};
}

Document open_preset(std::string_view name) {
    std::string names;
    for (const Preset& preset : presets()) {
        if (preset.name == name) return preset.document;
        names += (names.empty() ? "" : ", ") + preset.name;
    }
    throw Error("there is no preset \"" + escaped(name) + "\"; the presets are " + names);
}

}  // namespace attn::app
