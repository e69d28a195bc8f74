#include "app/cli/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "app/application.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/stop_signal.hpp"
#include "app/platform/app_loop.hpp"
#include "app/platform/file_portal.hpp"
#include "app/session/document/model_search.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

bool is_preset(const std::string& name) { return std::find(preset_names().begin(), preset_names().end(), name) != preset_names().end(); }

/// An argument that is not a file may have been meant as a command.
void expect_file(const std::filesystem::path& file) {
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown))
        throw FileError(FileFault::Io, escaped(file.native()), "", "there is no command or file of that name (see --help)");
}

/// The document that was open last, unless the options specify another one or it cannot read the text that they give. Its own text
/// takes the place of one shown last that it cannot read.
FirstDocument first_document(DocumentOptions wanted, const Settings& settings) {
    const bool asked = !wanted.preset.empty() || !wanted.document.empty() || !wanted.model.empty();
    const bool last = !asked && is_preset(settings.preset), own_text = wanted.given();
    if (last) wanted.preset = settings.preset;
    if (!last && !own_text) wanted.preset = kFirstPreset;
    Document document = make_document(wanted);
    if (last && own_text && !can_prepare(document, memory_budget_mib(settings))) {
        wanted.preset = kDefaultPreset;
        Document other = make_document(wanted);
        if (can_prepare(other, memory_budget_mib(settings)))
            return {std::move(other),
                    fmt::format("{}, the example opened last, cannot read this text: it is shown in {}.", settings.preset, kDefaultPreset)};
    }
    const bool pairs = settings.source_texts.size() == (document.source_texts.empty() ? 0 : settings.texts.size());
    if (!last || own_text || settings.texts.empty() || !pairs) return {std::move(document)};
    Document with_last_texts = document;
    with_last_texts.texts = settings.texts;
    with_last_texts.source_texts = settings.source_texts;
    if (can_prepare(with_last_texts, memory_budget_mib(settings))) return {std::move(with_last_texts)};
    return {std::move(document), fmt::format("{} cannot read the text shown last: its own text is shown.", settings.preset)};
}

/// With a text beside it, a model is the same as --model.
WindowStart with_model(WindowStart start) {
    if (!start.document.gives_text() || start.document.gives_model() || !OpenedModel::is_in(start.file)) return start;
    start.document.model = std::exchange(start.file, {});
    return start;
}

}  // namespace

FirstDocument first_document(WindowStart& start, const Settings& settings) {
    try {
        FirstDocument first = first_document(start.document, settings);
        if (start.document.document.empty() || start.document.gives_text() || named_runs(first.document).empty()) return first;
        start.file = std::exchange(start.document, {}).document;
        return first_document(start.document, settings);
    } catch (const ModelIsMissing&) {
        start.file = std::exchange(start.document, {}).document;
        return first_document(start.document, settings);
    }
}

void add_window_options(CliCommand program, WindowStart& start) {
    add_document_options(program, start.document, "");
    program
        .option("FILE", start.file,
                "Model (a folder or a GGUF file), document, lesson, training run, checkpoint, recording or text to open")
        .shown_as("");
    program.option("--shader-dir", start.shader_folder, "Read the shaders from this folder and reload them when they change")
        .shown_as("FOLDER")
        .existing_folder();
}

int open_window(const WindowStart& given) {
    WindowStart start = with_model(given);
    // An unreadable file ends the program before a window opens.
    if (!start.file.empty() && start.document.given())
        throw Error("a document, lesson or run has its own text: give it without --preset, --model and --text");
    if (!start.file.empty()) expect_file(start.file);
    const std::filesystem::path settings_file = settings_path();
    LoadedSettings loaded = load_settings(settings_file);
    if (!loaded.note.empty()) std::cerr << "attnscope: " << loaded.note << '\n';

    Waker waker;
    // A model opens with its example, not with a text from another day.
    FirstDocument first = first_document(start, OpenedModel::is_in(start.file) ? Settings() : loaded.settings);
    Application application(
        std::move(first.document), [&waker] { waker.wake(); }, memory_budget_mib(loaded.settings));
    if (!first.notice.empty()) {
        std::cerr << "attnscope: " << first.notice << '\n';
        application.tell(first.notice);
    }
    if (start.lesson != nullptr) application.open_lesson(start.lesson, start.lesson_step);
    // Opening errors end the program before a window opens.
    if (!start.file.empty()) application.open(start.file);
    LoopOptions options;
    options.settings_file = settings_file;
    options.shader_folder = start.shader_folder;
    options.stop = [] { return StopSignal::received() != 0; };
    application.keep_unsaved_work_in(autosave_path());
    application.lend_desktop_dialogs(session_bus_address());
    const StopSignal signals;
    run_window(options, loaded.settings, waker, [&](Frame& frame) { application.draw(frame); });
    if (StopSignal::received() == 0) {
        application.end();
        return kExitOk;
    }
    application.keep_for_next_start();
    return kExitOnSignal + StopSignal::received();
}

}  // namespace attn::app
