#include "app/cli/document_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/complaint.hpp"
#include "app/session/document/document_json.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/files/model_listing.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/text_file.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

void add_document_options(CliCommand command, DocumentOptions& options, std::string_view default_example) {
    const std::string otherwise = default_example.empty() ? "" : fmt::format("; {} by default", default_example);
    command.option("--preset", options.preset, "Worked example to start from (below)" + otherwise).shown_as("NAME").suggest(preset_names());
    command.option("--sentence", options.sentence, "One of the example's own sentences, from 1").shown_as("N").between(1, 1000);
    command.option("--text", options.texts, "Text of a sequence; repeat it for a batch").shown_as("TEXT").one_at_a_time();
    command.option("--source", options.sources, "What the encoder of an encoder-decoder reads; one for each text")
        .shown_as("TEXT")
        .one_at_a_time();
    command.option("--text-file", options.text_file, "File with one sequence per line").shown_as("FILE");
    command.option("--document", options.document, "Document saved by the window, instead of an example").shown_as("FILE.json");
    command.option("--model", options.model, "Published model instead of an example: a folder in Hugging Face's layout, or a GGUF file")
        .shown_as("DIR|FILE.gguf");
    command
        .option("--recording", options.recording,
                "Recording of your own code instead of an example, as attnscope.py writes it (`attnscope python`)")
        .shown_as("DIR");
    command.option("--bug", options.bug, with_names("Make this mistake on purpose", bug_names())).shown_as("NAME").suggest(bug_names());
}

void add_memory_option(CliCommand command, DocumentOptions& options) {
    command
        .option("--memory", options.memory_mib,
                "Memory for computed results; by default what is set in the window, or a quarter of the machine's memory")
        .shown_as("MIB")
        .between(1, 1e9);
}

double memory_budget_mib(const DocumentOptions& options) {
    return options.memory_mib > 0 ? options.memory_mib : memory_budget_mib(settings_path());
}

std::vector<std::string> bug_names() {
    std::vector<std::string> names;
    for (const MistakeInfo& info : mistakes()) names.emplace_back(info.name);
    return names;
}

std::string with_names(const std::string& help, const std::vector<std::string>& names) {
    return fmt::format("{}: {}", help, fmt::join(names, ", "));
}

std::vector<std::string> given_texts(const DocumentOptions& options) {
    if (!options.texts.empty() && !options.text_file.empty()) throw Error("--text and --text-file cannot be given together");
    if (options.text_file.empty()) return options.texts;
    std::vector<std::string> lines = lines_with_text(read_text_file(options.text_file, {.max_bytes = kTextLimitBytes, .stop = {}}).text);
    if (lines.empty()) throw FileError(FileFault::Schema, options.text_file.string(), "", "it contains no text");
    return lines;
}

namespace {

/// Says what was assumed about how the model reads a text.
void tell_notes(const TextConventions& conventions) {
    for (const std::string& note : conventions.notes) complain(note);
}

Document document_in(const std::filesystem::path& file) {
    std::vector<std::string> left_out, moved;
    ModelPlaces places = model_places();
    places.moved = &moved;
    Document document = load_document(file, &left_out, places);
    for (const auto* sentences : {&moved, &left_out})
        for (const std::string& sentence : *sentences) complain(sentence);
    tell_notes(conventions_of(document));
    return document;
}

}  // namespace

std::shared_ptr<const OpenedModel> open_named_model(const std::filesystem::path& path) {
    std::shared_ptr<const OpenedModel> model = OpenedModel::open(path);
    if (path.filename() == "tokenizer.json")
        complain(fmt::format("{} is only a tokenizer: the model in its folder is used", escaped(path.native(), 0)));
    tell_notes(model->text().conventions());
    return model;
}

namespace {

Document document_of_given_recording(const DocumentOptions& options) {
    DocumentOptions others = options;
    others.recording.clear();
    if (others.given() || !others.sources.empty())
        throw Error("--recording shows what other code computed: --preset, --document, --model, --text and --bug do not apply");
    return document_of_recording(OpenedRecording::open(options.recording));
}

}  // namespace

Document make_document(const DocumentOptions& options) {
    if (!options.document.empty() && !options.preset.empty()) throw Error("--document and --preset cannot be given together");
    if (options.sentence > 0 && options.gives_text())
        throw Error("--sentence chooses one of the example's texts: give it without --text and --text-file");
    if (!options.recording.empty()) return document_of_given_recording(options);
    if (options.sentence > 0 && (!options.document.empty() || !options.model.empty()))
        throw Error("--sentence chooses one of an example's texts: give it with --preset");
    if (!options.model.empty() && (!options.document.empty() || !options.preset.empty()))
        throw Error("--model cannot be given together with --preset or --document");
    if (is_run(folder_of_part(options.model)))
        throw Error(fmt::format("--model: {0} is a training run, not a published model: use --run {0}, or open it with attnscope {0}",
                                escaped(options.model.native(), 0)));
    Document document = !options.model.empty() ? document_of_model(open_named_model(options.model))
                        : !options.document.empty()
                            ? document_in(options.document)
                            : open_preset(options.preset.empty() ? kDefaultPreset : std::string_view(options.preset),
                                          static_cast<std::size_t>(std::max<std::int64_t>(options.sentence, 1) - 1));
    if (options.gives_text()) document.texts = given_texts(options);
    if (!options.sources.empty()) {
        if (document.config.architecture != Architecture::EncoderDecoder) throw Error("--source: this model is not an encoder-decoder");
        document.source_texts = options.sources;
    }
    if (!options.bug.empty()) document.forward.mistake = mistake_by_name(options.bug);
    return document;
}

void expect_edits_to_apply(const DocumentOptions& options, const Trace<float>& trace) {
    if (options.document.empty()) return;
    const std::vector<IdleEdit> idle = idle_edits(trace);
    if (idle.empty()) return;
    const Edit& edit = trace.settings.edits[idle.front().place];
    const std::string more = idle.size() == 1 ? "" : fmt::format(" (and {} more)", idle.size() - 1);
    throw FileError(FileFault::Schema, escaped(options.document.native(), 0), fmt::format("/forward/edits/{}", idle.front().place),
                    fmt::format("this edit of {} changes nothing: {}{}", tensor_name(edit.at), idle.front().why, more));
}

namespace {

bool is_padded(const TokenBatch& tokens) {
    return std::any_of(tokens.lengths.begin(), tokens.lengths.end(), [&](std::int64_t length) { return length < tokens.length; });
}

/// False only if the mistake cannot change a number, whatever the parameters are.
bool can_act(Mistake mistake, const Trace<float>& trace) {
    const MaskSettings& masks = trace.settings.masks;
    const bool padded = is_padded(trace.tokens) || is_padded(trace.source_tokens);
    switch (mistake) {
    case Mistake::MaskAfterSoftmax:
    case Mistake::InvertedMask:
    case Mistake::MaskMissing:
    case Mistake::CausalLeaksOne:
    case Mistake::CausalMasksSelf:
        return masks.causal || masks.window > 0 || masks.block > 0 || !masks.painted.empty() || (masks.padding && padded);
    case Mistake::PaddingOnQueries:
        return padded;
    case Mistake::HeadsSplitWithoutTranspose:
    case Mistake::HeadsJoinedWithoutTranspose:
        return trace.config.num_heads > 1;
    default:
        return Plan(trace.config).nodes() != Plan(trace.config, mistake).nodes();
    }
}

}  // namespace

void tell_idle_mistake(const Trace<float>& trace) {
    const Mistake mistake = trace.settings.mistake;
    if (mistake == Mistake::None || can_act(mistake, trace)) return;
    fmt::print(stderr, "attnscope: the mistake {} has no effect here: it needs {}\n", mistake_name(mistake), mistake_info(mistake).needs);
}

}  // namespace attn::app
