#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/export/copy.hpp"
#include "app/panels/files/desktop_sheet.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/panels/kit/folder_view.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/recorded_attentions.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/model_shelf.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// The folder of the file used last, else the one that the program was started from, or the home folder instead of the root of all, which
/// is where desktops start programs; with a trailing slash, "" if there is none. `to_write`: not one from which a published model
/// was opened, which belongs to other programs.
std::string usual_folder(const PanelContext& context, bool to_write = false) {
    const FilesState& files = context.files;
    if (!files.document.empty()) return known_as(files.document).parent_path().string() + "/";
    const auto is_model = [&](const std::string& recent) {
        return std::find(files.recent_models.begin(), files.recent_models.end(), recent) != files.recent_models.end();
    };
    for (const std::string& recent : files.recent)
        if (!is_in_store(recent) && !(to_write && is_model(recent))) return std::filesystem::path(recent).parent_path().string() + "/";
    std::error_code unknown;
    const std::filesystem::path started = std::filesystem::current_path(unknown);
    if (started.has_relative_path()) return started.string() + "/";
    const char* home = std::getenv("HOME");
    return home == nullptr ? "" : std::string(home) + "/";
}

void begin(PanelContext& context, FileTask task, std::string path) {
    FileView& view = context.view.files;
    view.task = task;
    view.path = {};
    view.path.text = view.opened_at = std::move(path);
    view.path.focus = true;
    view.path.select_name = !chooses_file(task);
    view.listed.reset();
    view.shelved.reset();
    view.shelf = false;
    forget_desktop(view);
    context.commands.push_back({command::EndNotice{}, ""});
}

bool desktop_comes_first(const PanelContext& context) {
    const DesktopDialog& desktop = context.view.files.desktop;
    return desktop.there && (desktop.preferred || !context.abilities.lists_files);
}

/// The same, but in the desktop's dialog if the user prefers that.
void begin_where_wanted(PanelContext& context, FileTask task, std::string path) {
    begin(context, task, std::move(path));
    if (desktop_comes_first(context))
        ask_desktop(context, chooses_file(task) ? DesktopQuestion::What::OpenFile : DesktopQuestion::What::SaveFile);
}

bool can_compute_again(const PanelContext& context) { return context.has_stage(context.view.stage); }

}  // namespace

void begin_path_sheet(PanelContext& context, FileTask task, const std::string& name) {
    const bool whole = std::filesystem::path(name).has_parent_path();
    begin(context, task, whole ? name : usual_folder(context, true) + name);
}

std::shared_ptr<const Lesson> lesson_of_page(const PanelContext& context) {
    return context.view.lesson.open() ? context.view.lesson.lesson : context.files.made_lesson;
}

void begin_lesson_page(PanelContext& context) {
    const std::shared_ptr<const Lesson> lesson = lesson_of_page(context);
    FileView& view = context.view.files;
    view.format = ExportAs::Page;
    const std::string name = (lesson == nullptr ? std::string("lesson") : visible_text(lesson->name)) + ending_of(view.format);
    begin_path_sheet(context, FileTask::Export, view.export_folder + name);
}

void begin_new(PanelContext& context) { open_example(context, find_preset(kFirstPreset), 0); }

void begin_open(PanelContext& context) {
    // If nothing has been opened yet, show the available models.
    const bool nothing_yet = context.files.document.empty() && context.files.recent.empty();
    if (nothing_yet && !desktop_comes_first(context)) return begin_open_model(context);
    begin_where_wanted(context, FileTask::Open, usual_folder(context));
}

namespace {

void begin_open_folder(PanelContext& context) {
    begin(context, FileTask::Open, usual_folder(context));
    ask_desktop(context, DesktopQuestion::What::OpenFolder);
}

void begin_with_models(PanelContext& context, FileTask task) {
    if (!context.abilities.lists_files) return begin_where_wanted(context, task, "");
    begin(context, task, "");
    show_models(context);
}

}  // namespace

void begin_open_run(PanelContext& context) {
    if (context.abilities.lists_files) begin_open(context);
    else begin_open_folder(context);
}

void begin_open_model(PanelContext& context) { begin_with_models(context, FileTask::Open); }

void begin_beside(PanelContext& context) {
    // Other precisions of a GGUF model are usually in the same folder.
    const auto& model = context.document.model;
    const bool file = model != nullptr && model->path().extension() == ".gguf";
    if (!file || !context.abilities.lists_files) return begin_with_models(context, FileTask::Beside);
    begin(context, FileTask::Beside, model->path().parent_path().string() + "/");
}

void draw_browse_button(PanelContext& context, const char* id, FileTask task, const std::string& typed, float width) {
    if (!button(context.ui(), id, {.width = width, .notes = {.tooltip = "Choose the file from a list."}})) return;
    const std::string folder = folder_part(typed);
    begin_where_wanted(context, task, folder.empty() ? usual_folder(context) : folder);
}

void begin_choosing_model(PanelContext& context) { begin_with_models(context, FileTask::Model); }

void begin_tokenizer(PanelContext& context) { begin_with_models(context, FileTask::Tokenizer); }

void put_model_beside(ViewState& view, const std::string& path) {
    PrecisionView& beside = view.precision;
    beside.other = path;
    ++beside.opening;
    beside.opened_a.reset();
    beside.opened_b.reset();
    beside.last_of = nullptr;
    beside.last = nullptr;
    beside.stopped = false;
    beside.parameter.clear();
    beside.cell.reset();
    view.view = View::Precision;
}

void put_tokenizer_beside(ViewState& view, const std::string& path) {
    TokenPathState& state = view.token_path;
    state.other = path;
    ++state.opening;
    state.of_other = false;
    state.other_piece.reset();
    state.table = false;
    view.stage = {Stage::Tokens, -1, view.stage.stack};
    view.view = View::Step;
}

bool take_dropped(PanelContext& context, const std::string& path) {
    const std::filesystem::path file = path;
    const std::string name = file.filename().string(), ending = file.extension().string();
    const bool tokenizer = name == "tokenizer.json" || name == "vocab.txt" || ending == ".model" || ending == ".tiktoken";
    if (tokenizer && has_token_path(context)) {
        put_tokenizer_beside(context.view, path);
        return true;
    }
    if (context.view.view != View::Precision || context.document.model == nullptr) return false;
    put_model_beside(context.view, path);
    return true;
}

namespace {

/// Of the run that was last saved to or opened from it; empty for a run in no folder, or one that no longer exists.
std::filesystem::path folder_of_run(const PanelContext& context, std::uint64_t run) {
    const RunStatus& current = *context.training.status;
    std::filesystem::path file = current.run == run ? current.file : "";
    for (const KeptRun& kept : current.kept)
        if (kept.run == run) file = kept.file;
    return file.extension() == ".safetensors" ? std::filesystem::path() : file;
}

/// The shown run; 0 if the document shows none of this session.
std::uint64_t shown_run(const PanelContext& context) {
    if (!context.document.trained) return 0;
    const std::uint64_t run = context.document.trained->run;
    const RunStatus& current = *context.training.status;
    const bool is_kept = std::any_of(current.kept.begin(), current.kept.end(), [&](const KeptRun& kept) { return kept.run == run; });
    return run == current.run || is_kept ? run : 0;
}

/// A folder that is not there yet for a run that has none: called like the run, or after its task and number.
std::string folder_for_run(const PanelContext& context, std::uint64_t run) {
    const RunStatus& current = *context.training.status;
    std::string name = current.name;
    TaskKind task = current.settings.task.kind;
    for (const KeptRun& kept : current.kept) {
        if (kept.run != run) continue;
        name = kept.name;
        task = kept.settings.task.kind;
    }
    std::replace(name.begin(), name.end(), '/', '-');
    const bool named = !name.empty() && name.front() != '.';
    const std::string begin = usual_folder(context, true) + (named ? name : std::string(task_info(task).name) + "-run");
    std::error_code unknown;
    std::string folder;
    for (std::uint64_t number = named ? 1 : run; folder.empty() || std::filesystem::exists(folder, unknown); ++number)
        folder = number == 1 ? begin : fmt::format("{}-{}", begin, number);
    return folder;
}

}  // namespace

void begin_save(PanelContext& context, bool ask) {
    if (!ask && !context.files.document.empty()) {
        context.commands.push_back({command::SaveDocument{context.files.document, look_of(context.view)}, ""});
        return;
    }
    const bool is_file = !context.files.document.empty() && run_folder_of(context.files.document).empty();
    if (const std::uint64_t run = shown_run(context); run != 0 && !is_file) return begin_save_run(context, run, ask);
    const std::string name = context.document.trained          ? "trained"
                             : context.document.model          ? std::filesystem::path(context.document.model->name()).filename().string()
                             : context.document.preset.empty() ? "untitled"
                                                               : context.document.preset;
    begin_where_wanted(context, FileTask::Save,
                       is_file ? context.files.document.string() : usual_folder(context, true) + name + std::string(kDocumentExtension));
}

void begin_save_run(PanelContext& context, std::uint64_t run, bool ask) {
    if (!context.abilities.writes_folders) return context.commands.push_back({command::TellFile{kNoFolders, true}, ""});
    const std::filesystem::path own = folder_of_run(context, run);
    if (!own.empty() && !ask) return save_run(context, run, own);
    context.view.files.saved_run = run;
    begin_where_wanted(context, FileTask::SaveRun, own.empty() ? folder_for_run(context, run) : own.string());
}

void save_run(PanelContext& context, std::uint64_t run, const std::filesystem::path& folder) {
    if (run == shown_run(context)) context.commands.push_back({command::SaveDocument{run_document(folder), look_of(context.view)}, ""});
    else context.commands.push_back({command::SaveRun{run, folder}, ""});
}

void begin_export(PanelContext& context) {
    const ShownNumbers shown = shown_numbers(context);
    std::string name = shown.empty() ? std::string(view_info(context.view.view).name) : shown.title;
    for (std::string_view words : {std::string_view(", B − A"), std::string_view(", A − B")})
        if (name.ends_with(words)) name.replace(name.size() - words.size(), words.size(), "-difference");
    std::replace(name.begin(), name.end(), ' ', '-');
    std::erase(name, ',');
    const std::string& last = context.view.files.export_folder;
    FileView& view = context.view.files;
    const bool numbers = view.exported_as == ExportAs::Csv || view.exported_as == ExportAs::Npy;
    const bool page = view.exported_as == ExportAs::Page;
    view.format = page || (numbers && shown.empty()) ? ExportAs::Png : view.exported_as;
    begin(context, FileTask::Export, (last.empty() ? usual_folder(context, true) : last) + name + ending_of(view.format));
}

void copy_snippet(PanelContext& context, bool torch) {
    if (!side_in_place(context).empty())
        return context.commands.push_back({command::TellFile{"Only B's program can be copied: show B first.", true, NoticeOf::View}, ""});
    if (can_compute_again(context)) context.commands.push_back({command::CopySnippet{context.view.stage, torch}, ""});
}

void draw_file_menu(PanelContext& context) {
    if (!begin_menu_button(context.ui(), "##file", "File", 64,
                           {.tooltip = "Open, save, export pictures and numbers, copy numbers, a picture or a program."}))
        return;
    draw_file_items(context);
    end_menu_button();
}

namespace {

/// The files used last.
void draw_recent_items(PanelContext& context) {
    constexpr std::size_t kMost = 4;
    const std::vector<std::string>& recent = context.files.recent;
    for (std::size_t i = 0; i < std::min(kMost, recent.size()); ++i) {
        const std::filesystem::path path = recent[i];
        if (is_in_store(recent[i])) continue;
        ImGui::PushID(static_cast<int>(i));
        if (menu_item(context.ui(), "Open recent: " + visible_text(path.filename().string()), false,
                      visible_text(path.parent_path().string())))
            context.commands.push_back({command::OpenFile{path}, ""});
        ImGui::PopID();
    }
}

}  // namespace

void draw_file_items(PanelContext& context) {
    const Ui ui = context.ui();
    if (menu_item(ui, "New", false, "The first example, not saved yet.")) begin_new(context);
    if (menu_item(ui, "Open…", false, "A document, training run or text; files can also be dropped on the window.", "Ctrl + O"))
        begin_open(context);
    if (menu_item(ui, "Open a model…", false, opened_models(context))) begin_open_model(context);
    DesktopDialog& desktop = context.view.files.desktop;
    if (desktop.there &&
        menu_item(ui, "Open a folder…", false, fmt::format("Of a model or a training run, in the {}.", context.abilities.dialog)))
        begin_open_folder(context);
    if (menu_item(ui, "Record your own code…", false, "Attention in your PyTorch code, as it runs.")) begin_own_code(context);
    if (shows_own_recording(context) && menu_item(ui, "Open as a model", false, "The recorded weights in a model that runs."))
        context.commands.push_back({command::OpenAsModel{look_of(context.view)}, ""});
    if (context.abilities.lists_files) draw_recent_items(context);
    if (menu_item(ui, "Save", false, {}, "Ctrl + S")) begin_save(context, false);
    if (menu_item(ui, "Save as…", false, {}, "Ctrl + Shift + S")) begin_save(context, true);
    if (menu_item(ui, "Export…", false, "What is shown as PNG, SVG, CSV or .npy; the whole trace; a lesson as a page.", "Ctrl + E"))
        begin_export(context);
    if (menu_item(ui, "Make a lesson step…", false, "What is shown becomes a step of a lesson of your own.")) begin_lesson_step(context);
    if (menu_item(ui, "Copy the value", false, "The chosen number.", "Ctrl + C")) copy_numbers(context, CopyPart::Value);
    if (menu_item(ui, "Copy the row", false, "The chosen row, separated by tabs.")) copy_numbers(context, CopyPart::Row);
    if (menu_item(ui, "Copy the map", false, "All numbers that are shown, for a spreadsheet.")) copy_numbers(context, CopyPart::Map);
    if (menu_item(ui, "Copy the picture", false, "As SVG source.")) copy_picture(context);
    if (menu_item(ui, "Copy the program as NumPy", false, "Recomputes this stage from its operands.", "Ctrl + Shift + C"))
        copy_snippet(context, false);
    if (menu_item(ui, "Copy the program as PyTorch", false, {})) copy_snippet(context, true);
    if (context.abilities.copies_links && menu_item(ui, "Copy a link", false, kLinkWords)) context.view.files.wants_link = true;
    if (desktop.there && context.abilities.lists_files &&
        menu_item(ui, "Prefer the desktop's dialog", desktop.preferred, "For opening and saving; a button leads to the other dialog."))
        desktop.preferred = !desktop.preferred;
    if (!context.abilities.closes) return;
    separator(ui);
    if (menu_item(ui, "Quit", false, {}, "Ctrl + Q")) close_window(context);
}

bool file_sheet_is_open(const PanelContext& context) {
    const FileView& view = context.view.files;
    return view.task != FileTask::None || view.closing == Closing::Asked || asks_to_restore(context) || context.files.text.has_value() ||
           asks_for_model(context) || asks_about_replacing(context);
}

std::string document_name(const std::filesystem::path& document) { return visible_text(known_as(document).filename().string()); }

std::string window_title(const FilesState& files, bool run_is_unsaved) {
    const std::string name = files.document.empty() ? "" : document_name(files.document) + " - ";
    return (files.unsaved || run_is_unsaved ? "\u2022 " : "") + name + "attnscope";
}

}  // namespace attn::app
