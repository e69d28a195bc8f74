#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/export/export_line.hpp"
#include "app/panels/files/desktop_sheet.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/files/open_sheet.hpp"
#include "app/panels/kit/folder_view.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kShownLines = 9;
constexpr float kOptionRows = 76;  ///< height of the two rows below the format

/// The path that the task uses for what was typed.
std::filesystem::path with_ending(std::filesystem::path path, FileTask task) {
    if (task == FileTask::Save && !path.has_extension()) path += kDocumentExtension;
    // A run is a folder, of which its checkpoint is a part.
    if (task == FileTask::SaveRun && path.filename() == "model.safetensors") return path.parent_path();
    if (task == FileTask::SaveRun && path.extension() == ".safetensors") return path.replace_extension();
    return path;
}

bool is_there(const PanelContext& context) {
    const std::string path = with_ending(context.view.files.path.text, context.view.files.task).string();
    const FolderListing* listing = listing_of(context);
    const std::string name = path.substr(folder_part(path).size());
    return listing != nullptr && std::any_of(listing->entries.begin(), listing->entries.end(),
                                             [&](const auto& entry) { return !entry.folder && entry.name == name; });
}

void set_extension(PathField& field, const char* extension) {
    const std::size_t start = folder_part(field.text).size(), dot = field.text.rfind('.');
    if (dot != std::string::npos && dot > start) field.text.resize(dot);
    field.text += extension;
    field.focus = true;
}

void put_line(PanelContext& context, const std::string& text, bool chosen, bool& clicked) {
    const Ui ui = context.ui();
    clicked = menu_item(ui, visible_text(text, true), chosen, {}, {}, true);
}

/// The list of completions; a click takes one.
void draw_completions(PanelContext& context) {
    PathField& field = context.view.files.path;
    const auto count = std::min(field.completions.size(), kShownLines);
    // Scroll to the completion chosen with the arrow keys.
    const std::size_t first = field.chosen >= static_cast<int>(count) ? static_cast<std::size_t>(field.chosen) + 1 - count : 0;
    for (std::size_t i = first; i < first + count; ++i) {
        bool clicked = false;
        ImGui::PushID(static_cast<int>(i));
        put_line(context, field.completions[i], static_cast<int>(i) == field.chosen, clicked);
        ImGui::PopID();
        if (!clicked) continue;
        field.text = field.completions[i];
        field.focus = true;
        field.chosen = -1;
        break;
    }
    if (field.completions.size() > count)
        text_line(context.ui(), context.theme.fonts.caption, context.theme.colors.faint,
                  fmt::format("and {} more", field.completions.size() - count));
}

void draw_picture_options(PanelContext& context) {
    const Ui ui = context.ui();
    FileView& view = context.view.files;
    static constexpr std::array<std::string_view, 2> kWhat = {"picture alone", "whole window"};
    int what = view.whole_window ? 1 : 0;
    if (segmented_row(ui, "What", kWhat, what, 76, {.tooltip = "The view in the centre, or the whole window."}))
        view.whole_window = what == 1;
    if (view.format != ExportAs::Png) return;
    gap(ui, 6);
    static constexpr std::array<std::string_view, 4> kScales = {"1x", "2x", "3x", "4x"};
    int scale = view.picture_scale - 1;
    if (segmented_row(ui, "Scale", kScales, scale, 76, {.tooltip = "Pixels in the file per pixel of the window."}))
        view.picture_scale = scale + 1;
}

void draw_number_options(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    FileView& view = context.view.files;
    const ShownNumbers shown = shown_numbers(context);
    if (!shows_stages(context.view.view))
        return text_line(ui, fonts.label, colors.muted, shown.empty() ? " " : "The numbers that are shown.");  // else a warning says why
    const std::string one = shown.empty() ? "what is shown"
                            : has_heads(context.structure().shape_of(context.view.stage))
                                ? fmt::format("text {}, head {}", context.view.batch + 1, context.view.head)
                                : fmt::format("text {}", context.view.batch + 1);
    const std::array<std::string_view, 2> what_names = {one, "whole tensor"};
    int what = view.whole_tensor ? 1 : 0;
    if (segmented_row(ui, "What", what_names, what, 76, {.tooltip = "The matrix that is shown, or all texts and heads."}))
        view.whole_tensor = what == 1;
}

void draw_export_options(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    FileView& view = context.view.files;
    static constexpr std::array<std::string_view, kExportFormats> kNames = {"PNG", "SVG", "CSV", ".npy", "trace", "operands", "page"};
    int format = static_cast<int>(view.format);
    if (segmented_row(ui, "Format", kNames, format, 76,
                      {.tooltip = "A picture; the numbers; the whole trace as .safetensors; this stage's operands as .npz; a lesson as one "
                                  "HTML page."})) {
        view.format = static_cast<ExportAs>(format);
        set_extension(view.path, ending_of(static_cast<ExportAs>(format)));
    }
    gap(ui, 6);
    // The rows below stay where they are, whatever the format.
    const ImVec2 rows = ImGui::GetCursorScreenPos();
    switch (view.format) {
    case ExportAs::Png:
    case ExportAs::Svg:
        draw_picture_options(context);
        break;
    case ExportAs::Csv:
    case ExportAs::Npy:
        draw_number_options(context);
        break;
    case ExportAs::Trace:
        text_line(ui, fonts.label, colors.muted, "Every stage with its axis names, masks and tokens.");
        break;
    case ExportAs::Operands:
        text_line(ui, fonts.label, colors.muted, "What this stage is computed from, for the copied program.");
        break;
    case ExportAs::Page:
        paragraph(ui, fonts.label, colors.muted, "The lesson with its pictures, numbers and questions, to be read without the program.");
        break;
    }
    ImGui::SetCursorScreenPos({rows.x, rows.y + context.px(kOptionRows)});
    ImGui::Dummy({1, 1});
}

/// The format given by the name's extension, otherwise the chosen one.
ExportAs format_of(const std::filesystem::path& path, ExportAs chosen) {
    const auto found = std::find(kExportEndings.begin(), kExportEndings.end(), path.extension().string());
    return found == kExportEndings.end() ? chosen : static_cast<ExportAs>(found - kExportEndings.begin());
}

TensorChoice chosen_numbers(const PanelContext& context) {
    TensorChoice choice{context.view.stage, {}, {}, shows_gradients(context)};
    if (!context.view.files.whole_tensor) {
        choice.batch = context.view.batch;
        choice.head = context.view.head;
    }
    return choice;
}

bool exports_numbers(const FileView& view) { return view.format == ExportAs::Csv || view.format == ExportAs::Npy; }

/// The numbers of all texts and heads. What a view computes by itself has none beyond those shown.
bool exports_whole_stage(const PanelContext& context) {
    return exports_numbers(context.view.files) && context.view.files.whole_tensor && shows_stages(context.view.view);
}

/// Why the chosen format cannot hold what is shown; "" if it can.
std::string why_not_exported(const PanelContext& context, const ShownNumbers& shown) {
    const FileView& view = context.view.files;
    if (view.format == ExportAs::Page)
        return lesson_of_page(context) == nullptr ? "Open a lesson first, or make one: it becomes the page." : "";
    const bool whole = view.format == ExportAs::Trace || view.format == ExportAs::Operands || exports_whole_stage(context);
    if (whole && !side_in_place(context).empty()) return "The picture shows A, but only B can be exported whole: show B first.";
    if (!exports_numbers(view) || exports_whole_stage(context)) return "";
    if (shown.empty()) return shown.missing;
    return shown.is_stage || !shown.matrix.in_blocks() ? ""
                                                       : "A map this large can only be exported as it was computed: choose “whole tensor”.";
}

void export_numbers(PanelContext& context, const std::filesystem::path& path) {
    const ShownNumbers shown = shown_numbers(context);
    if (exports_numbers(context.view.files) && !exports_whole_stage(context) && !shown.is_stage)
        context.commands.push_back({command::ExportTable{path, table_of(context, shown)}, ""});
    else context.commands.push_back({command::ExportTensor{path, chosen_numbers(context)}, ""});
}

/// Closes the sheet; a Python file was saved from the sheet about one's own code, which is shown again.
void leave(FileView& view) { view.task = view.task == FileTask::SavePython ? FileTask::OwnCode : FileTask::None; }

/// `replace`: the user knows that a file of this name is there.
void confirm(PanelContext& context, bool replace) {
    FileView& view = context.view.files;
    const std::filesystem::path path = with_ending(without_tilde(view.path.text), view.task);
    if (view.path.text.empty() || view.path.text.back() == '/') return;
    switch (view.task) {
    case FileTask::Save:
        context.commands.push_back({command::SaveDocument{path, look_of(context.view), replace}, ""});
        break;
    case FileTask::SaveRun:
        if (path.native().ends_with(kDocumentExtension))
            context.commands.push_back({command::SaveDocument{path, look_of(context.view)}, ""});
        else save_run(context, view.saved_run, path);
        break;
    case FileTask::Export:
        view.export_folder = folder_part(path.string());
        view.exported_as = view.format;
        if (view.format == ExportAs::Page) context.commands.push_back({command::ExportLesson{path, lesson_of_page(context)}, ""});
        else if (view.format <= ExportAs::Svg) view.picture = PictureWish{path, static_cast<float>(view.picture_scale), view.whole_window};
        else export_numbers(context, path);
        break;
    case FileTask::SavePython:
        context.commands.push_back({command::ExportPython{path, view.python}, ""});
        break;
    case FileTask::Open:
    case FileTask::Beside:
    case FileTask::Tokenizer:
    case FileTask::Model:
    case FileTask::Dump:
    case FileTask::TrainingText:
    case FileTask::LessonStep:
    case FileTask::OwnCode:
    case FileTask::None:
        break;
    }
    leave(view);
}

/// Whether another file than the document's own is to be replaced.
bool warns_of_replacing(const PanelContext& context) {
    return is_there(context) && without_tilde(context.view.files.path.text) != context.files.document;
}

/// Shows why the path cannot be used, or what using it will do.
void draw_warning(PanelContext& context) {
    const FileView& view = context.view.files;
    const auto& [colors, fonts, scale] = context.theme;
    const FolderListing* listing = listing_of(context);
    std::string text;
    if (listing != nullptr && !listing->problem.empty()) text = "This folder cannot be read: " + listing->problem + ".";
    else if (view.task == FileTask::Export && std::filesystem::path(view.path.text).extension() != ending_of(view.format))
        text = fmt::format("The name must end in {}.", ending_of(view.format));
    else if (std::string why = view.task == FileTask::Export ? why_not_exported(context, shown_numbers(context)) : ""; !why.empty())
        text = std::move(why);
    else if (warns_of_replacing(context)) text = "The file exists and will be replaced.";
    paragraph(context.ui(), fonts.label, colors.chosen_text, text.empty() ? " " : text);
}

bool can_confirm(PanelContext& context) {
    const FileView& view = context.view.files;
    const std::string& path = view.path.text;
    if (path.empty() || path.back() == '/') return false;
    if (view.task != FileTask::Export) return true;
    const bool fits = std::filesystem::path(path).extension() == ending_of(view.format);
    return fits && why_not_exported(context, shown_numbers(context)).empty();
}

/// Whether the typed file's folder is known to be missing or unreadable; the warning says so.
bool is_in_no_folder(const PanelContext& context) {
    const FolderListing* listing = listing_of(context);
    return listing != nullptr && !listing->problem.empty();
}

std::string export_title(PanelContext& context) {
    const FileView& view = context.view.files;
    const std::string stage = tensor_name(context.view.stage);
    switch (view.format) {
    case ExportAs::Png:
    case ExportAs::Svg:
        return "Export the picture";
    case ExportAs::Csv:
    case ExportAs::Npy: {
        const ShownNumbers shown = shown_numbers(context);
        if (!exports_whole_stage(context) && !shown.is_stage)
            return "Export " + (shown.title.empty() ? std::string(view_info(context.view.view).name) : shown.title);
        return "Export " + stage + (shows_gradients(context) ? ", gradients" : "");
    }
    case ExportAs::Trace:
        return "Export the whole trace";
    case ExportAs::Operands:
        return "Export the operands of " + stage;
    case ExportAs::Page:
        return "Export the lesson as a page";
    }
    return "";
}

/// One of several may be asked for, as when the window closes.
std::string name_of_saved_run(const PanelContext& context) {
    const std::uint64_t run = context.view.files.saved_run;
    const std::vector<RunCurves>& runs = context.training.runs;
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunCurves& one) { return one.run == run; });
    if (runs.size() < 2 || found == runs.end()) return "the training run";
    return found->name.empty() ? fmt::format("run {}", run) : fmt::format("“{}”", found->name);
}

std::string path_sheet_title(PanelContext& context) {
    const FileTask task = context.view.files.task;
    if (task == FileTask::Export) return export_title(context);
    if (task == FileTask::SavePython) return "Save " + context.view.files.python;
    return task == FileTask::SaveRun ? fmt::format("Save {} as", name_of_saved_run(context)) : "Save as";
}

/// Uses a path from the desktop's dialog, which has already asked about overwriting exactly this file. If there are further choices, or the
/// name must change, our sheet takes over.
void use_desktop_path(PanelContext& context, const std::filesystem::path& path) {
    FileView& view = context.view.files;
    view.path.text = path.string();
    view.path.focus = true;
    if (view.task == FileTask::Export) {
        if (!path.has_extension()) set_extension(view.path, ending_of(view.format));
        view.format = format_of(view.path.text, view.format);
    } else if (!chooses_file(view.task)) {
        if (with_ending(path, view.task) == path) confirm(context, true);
        else view.path.text = with_ending(path, view.task).string();
    } else {
        use_chosen_path(context, view.path.text);
    }
}

void draw_path_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    FileView& view = context.view.files;
    const bool save = view.task != FileTask::Export;
    bool stays = begin_sheet(context, "##file_sheet", 640);
    draw_sheet_heading(context, path_sheet_title(context), DesktopQuestion::What::SaveFile);
    gap(ui, 6);
    if (view.task == FileTask::Export) draw_export_options(context);
    if (view.task == FileTask::SaveRun)
        paragraph(
            ui, fonts.label, colors.muted,
            "The folder holds the whole run: model, optimizer, curves, head scores, earlier steps and what is shown of it. It opens as it "
            "was left, and attnscope train --resume goes on with it, too.");
    keep_listing(context);
    find_completions(context);
    const PathFieldResult typed = path_field(ui, "##path", view.path, "path");
    end_refusal_of_path(context, typed.changed);
    if (typed.changed && view.task == FileTask::Export) view.format = format_of(view.path.text, view.format);
    bool entered = typed.entered;
    gap(ui, 4);
    draw_warning(context);
    gap(ui, 4);
    const std::string_view not_yet = can_confirm(context) ? "" : "This cannot be saved: the line above says why.";
    if (button(ui, save ? "Save##do" : "Export##do", {.look = ButtonLook::Accent, .width = 120, .notes = {.disabled = not_yet}}))
        entered = true;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Cancel", {.width = 100, .notes = {.tooltip = "Esc"}})) stays = false;
    ImGui::SameLine(0, context.px(16));
    text_line(ui, fonts.caption, colors.faint, "Tab completes, up and down choose, Enter confirms");
    draw_completions(context);  // last, because they come and go
    if (entered && can_confirm(context) && !is_in_no_folder(context)) confirm(context, warns_of_replacing(context));
    else if (entered) view.path.focus = true;  // Enter on a folder opens it; on a name, typing continues
    if (!stays || key_pressed(Key::Escape, false)) leave(view);
    end_sheet(context);
}

/// Asks whether an opened text should be shown or learned.
void draw_text_question(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const OpenedText& opened = *context.files.text;
    using As = command::UseText::As;
    std::optional<As> answer;
    bool stays = begin_sheet(context, "##text_question", 520);
    text_line(ui, fonts.heading, colors.text, elide(fonts.heading, visible_text(opened.path.filename().string()), context.px(470)));
    gap(ui, 4);
    paragraph(ui, fonts.body, colors.muted, fmt::format("A text of {} bytes. What is it for?", opened.text->size()));
    gap(ui, 8);
    if (button(ui, "Look at its first lines",
               {.look = ButtonLook::Accent, .notes = {.tooltip = "Its first eight lines become the texts, of 4 KiB in all (Enter)."}}) ||
        key_pressed(Key::Enter, false))
        answer = As::Probe;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Train on it", {.notes = {.tooltip = "The next training run learns to continue this text."}})) answer = As::Training;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Cancel", {.notes = {.tooltip = "Esc"}}) || key_pressed(Key::Escape, false) || !stays) answer = As::Nothing;
    end_sheet(context);
    if (!answer) return;
    context.commands.push_back({command::UseText{*answer}, ""});
    if (*answer == As::Training) context.view.view = View::Train;
    if (*answer == As::Probe && context.view.view == View::Train) context.view.view = View::Step;
}

}  // namespace

void draw_file_sheet(PanelContext& context, const Box& picture) {
    draw_close_sheet(context);
    keep_up_with_export(context);
    draw_export_line(context, picture.max.y);
    if (context.view.files.closing == Closing::Asked) return draw_notices(context, picture);
    if (const auto chosen = take_desktop_path(context)) use_desktop_path(context, *chosen);
    if (asks_to_restore(context)) draw_restore_sheet(context);
    else if (context.files.text) draw_text_question(context);
    else if (asks_for_model(context)) draw_missing_model_sheet(context);
    else if (asks_about_replacing(context)) draw_replace_sheet(context);
    else if (context.view.files.desktop.waiting) draw_desktop_sheet(context);
    else if (chooses_file(context.view.files.task)) draw_open_sheet(context);
    else if (context.view.files.task == FileTask::LessonStep) draw_lesson_step_sheet(context);
    else if (context.view.files.task == FileTask::OwnCode) draw_own_code_sheet(context);
    else if (context.view.files.task != FileTask::None) draw_path_sheet(context);
    draw_notices(context, picture);
}

}  // namespace attn::app
