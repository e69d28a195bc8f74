#include "app/panels/files/open_sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "app/panels/files/desktop_sheet.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/panels/kit/folder_view.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kSheetWidth = 860, kPlacesWidth = 190, kRow = 26, kMostRows = 12;
constexpr std::size_t kMostPlaces = 9;

struct Place {
    std::string name, folder;
};

void add_place(std::vector<Place>& places, std::string name, std::string folder) {
    const bool known = std::any_of(places.begin(), places.end(), [&](const Place& place) { return place.folder == folder; });
    if (!folder.empty() && !known && places.size() < kMostPlaces) places.push_back({std::move(name), std::move(folder)});
}

/// The home folder, folders of recently used files, and the root.
std::vector<Place> places(const PanelContext& context) {
    std::vector<Place> all;
    if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') add_place(all, "Home", std::string(home) + "/");
    if (context.document.model != nullptr) add_place(all, "This model", context.document.model->path().parent_path().string() + "/");
    if (!context.files.document.empty()) add_place(all, "This document", context.files.document.parent_path().string() + "/");
    for (const std::string& recent : context.files.recent) {
        const std::filesystem::path folder = std::filesystem::path(recent).parent_path();
        std::string name = visible_text(folder.filename().string(), true);
        if (std::any_of(all.begin(), all.end(), [&](const Place& place) { return place.name == name; }))
            name = visible_text((folder.parent_path().filename() / folder.filename()).string(), true);
        if (all.size() + 1 < kMostPlaces) add_place(all, std::move(name), folder.string() + "/");
    }
    add_place(all, "File system", "/");
    return all;
}

void go_to_path(PanelContext& context, const std::string& path) {
    PathField& field = context.view.files.path;
    context.view.files.shelf = false;
    field.text = path;
    field.chosen = -1;
    field.focus = true;
    stop_typing();  // the field only shows the new text once it is reactivated
}

/// A line of a list: the name at the left, a note at the right.
Item draw_row(PanelContext& context, const char* id, std::string_view name, std::string_view note, bool chosen, bool folder) {
    const auto& [colors, fonts, scale] = context.theme;
    const Item item =
        begin_item(context.ui(), id, {ImGui::GetContentRegionAvail().x, context.px(kRow)}, {.explains_itself = true, .keyboard = false});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (chosen || item.hovered)
        list.AddRectFilled(item.min, item.max, chosen ? with_alpha(colors.accent, 0.25F) : colors.raised, context.px(5));
    const float note_width = text_width(fonts.mono_small, note), left = item.min.x + context.px(10);
    draw_text_in(list, folder ? fonts.strong : fonts.body, {left, item.min.y}, item.max, {0, 0.5F}, colors.text,
                 elide(folder ? fonts.strong : fonts.body, name, item.max.x - left - note_width - context.px(24)));
    draw_text_in(list, fonts.mono_small, item.min, {item.max.x - context.px(10), item.max.y}, {1, 0.5F}, colors.faint, note);
    return item;
}

void draw_places(PanelContext& context, float height) {
    ImGui::BeginChild("##places", {context.px(kPlacesWidth), height}, false, ImGuiWindowFlags_NoNav);
    section_heading(context.ui(), "Places");
    const bool models = models_are_listed(context);
    const std::string here = models ? "" : without_tilde(folder_part(context.view.files.path.text));
    const Item shelf = draw_row(context, "##models", "Models", "", models, true);
    if (shelf.pressed) show_models(context);
    for (const Place& place : places(context)) {
        const Item item = draw_row(context, place.folder.c_str(), place.name, "", place.folder == here, false);
        if (item.pressed) go_to_path(context, place.folder);
    }
    draw_models_folder_choice(context);
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
}

/// The note at the right of a line: the file's size, or "recent".
std::string note_of(const PanelContext& context, const std::string& path) {
    const FolderListing* listing = listing_of(context);
    const std::string folder = folder_part(context.view.files.path.text);
    if (listing == nullptr || folder_part(path) != folder) return path.ends_with('/') ? "" : "recent";
    for (const FolderListing::Entry& entry : listing->entries)
        if (!entry.folder && folder + entry.name == path) return bytes_words(entry.bytes);
    return "";
}

ModelLine path_line(const PanelContext& context, const std::string& folder, const std::string& path) {
    const bool here = path.starts_with(folder) && folder_part(path.substr(0, path.size() - 1)) == folder;
    return {visible_text(here ? path.substr(folder.size()) : path, true), note_of(context, path)};
}

bool is_listed(const PanelContext& context, const std::string& path) {
    const auto& completions = context.view.files.path.completions;
    return std::any_of(completions.begin(), completions.end(), [&](const std::string& other) { return without_tilde(other) == path; });
}

/// The selected line, or the first if only part of a name was typed; -1: none, what was typed counts.
int line_for_enter(const PanelContext& context) {
    const PathField& field = context.view.files.path;
    if (field.chosen >= 0 && field.chosen < static_cast<int>(field.completions.size())) return field.chosen;
    const bool begun = !field.text.empty() && !field.text.ends_with('/') && field.chosen < 0;
    return begun && !field.completions.empty() && !is_listed(context, without_tilde(field.text)) ? 0 : -1;
}

/// "/a/b/" -> "/a/"; "" above the root.
std::string folder_above(const std::string& folder) { return folder.size() < 2 ? "" : folder_part(folder.substr(0, folder.size() - 1)); }

/// The first line leads to the folder above: always at the same place, so that it can be clicked again. Returns its height.
float draw_way_up(PanelContext& context, const std::string& folder) {
    const std::string above = models_are_listed(context) ? "" : folder_above(without_tilde(folder));
    if (above.empty()) return 0;
    if (draw_row(context, "##up", "..", "the folder above", false, true).pressed) go_to_path(context, above);
    return context.px(kRow);
}

/// Draws visible lines only, because a folder may have thousands of entries.
void draw_contents(PanelContext& context, float height, bool& opens) {
    PathField& field = context.view.files.path;
    const auto& [colors, fonts, scale] = context.theme;
    ImGui::BeginChild("##contents", {0, height}, false, ImGuiWindowFlags_NoNav);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    const std::string folder = folder_part(field.text);
    const bool models = models_are_listed(context);
    const int taken = line_for_enter(context);
    const float line = context.px(kRow), room = ImGui::GetWindowHeight();
    const float from = draw_way_up(context, folder) + static_cast<float>(std::max(field.chosen, 0)) * line;
    if (field.chosen >= 0 && from < ImGui::GetScrollY()) ImGui::SetScrollY(from);
    if (field.chosen >= 0 && from + line > ImGui::GetScrollY() + room) ImGui::SetScrollY(from + line - room);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(field.completions.size()), line);
    while (clipper.Step()) {
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const std::string path = field.completions[static_cast<std::size_t>(i)];
            const bool is_folder = path.ends_with('/');
            const ModelLine shown = models ? model_line(context, path) : path_line(context, folder, path);
            ImGui::PushID(i);
            const Item item = draw_row(context, "##entry", shown.name, shown.note, i == taken, is_folder);
            ImGui::PopID();
            if (!item.pressed) continue;
            if (is_folder) {
                go_to_path(context, path);
            } else {
                opens = opens || (field.chosen == i && ImGui::IsMouseDoubleClicked(0));
                field.chosen = i;
                field.focus = true;
            }
        }
    }
    clipper.End();
    const FolderListing* listing = models ? nullptr : listing_of(context);
    if (models) draw_model_sources(context);
    if (field.completions.empty() && listing != nullptr)
        paragraph(context.ui(), fonts.label, colors.faint,
                  !listing->problem.empty() ? "This folder cannot be read: " + listing->problem + "." : "Nothing here matches.");
    ImGui::PopStyleVar();
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
}

/// What would be opened now: the line that Enter takes, otherwise the typed path.
std::string path_to_open(const PanelContext& context) {
    const PathField& field = context.view.files.path;
    const int line = line_for_enter(context);
    return without_tilde(line >= 0 ? field.completions[static_cast<std::size_t>(line)] : field.text);
}

/// Whether what was typed should be the name of a listed model, but is not.
bool names_no_model(const PanelContext& context) {
    return models_are_listed(context) && !context.view.files.path.text.empty() && line_for_enter(context) < 0;
}

/// Requests the preview of what would be opened. Null until it is ready.
const FilePreview* keep_preview(PanelContext& context) {
    const std::string path = path_to_open(context);
    if (path.empty() || names_no_model(context)) return nullptr;
    FileView& view = context.view.files;
    if (view.previewed != path) {
        view.previewed = path;
        context.commands.push_back({command::PreviewFile{path}, ""});
    }
    const FilePreview* preview = context.files.preview.get();
    return preview != nullptr && preview->path == path ? preview : nullptr;
}

/// A folder can be opened if it is a model or a run. A folder with only a tokenizer cannot be told from any other.
std::string why_not_openable(FileTask task, const std::string& path, const FilePreview* preview) {
    if (path.empty()) return "Type or choose a file first.";
    if (preview != nullptr && !preview->there) return "There is no such file.";
    if (!path.ends_with('/') || task == FileTask::Tokenizer) return "";
    if (task == FileTask::Dump || task == FileTask::TrainingText) return "This is a folder: choose a file in it.";
    return preview == nullptr || preview->words.empty() || preview->refused ? "This folder is neither a model nor a training run." : "";
}

/// False for an ordinary folder, which Enter lists instead of opening it.
bool may_enter(FileTask task, const std::string& path, const FilePreview* preview) {
    return why_not_openable(task == FileTask::Tokenizer ? FileTask::Open : task, path, preview).empty();
}

/// Why the chosen line of the models cannot be opened, as far as it is known. Its tokenizer or its weights alone may still be read.
std::string why_model_is_refused(const PanelContext& context, const FilePreview* preview) {
    if (context.view.files.task != FileTask::Open) return "";
    if (preview != nullptr && preview->refused) return preview->words;
    const std::string problem = problem_of_listed(context, path_to_open(context));
    return problem.empty() ? "" : fmt::format("This model cannot be opened: {}.", problem);
}

void draw_preview(const PanelContext& context, const FilePreview* preview, const std::string& refused) {
    const auto& [colors, fonts, scale] = context.theme;
    const bool is_refused = preview != nullptr && preview->refused;
    if (!refused.empty() || is_refused)
        return paragraph(context.ui(), fonts.label, colors.chosen_text, visible_text(refused.empty() ? preview->words : refused, true));
    const float width = ImGui::GetContentRegionAvail().x;
    const std::string words = preview == nullptr ? "" : visible_text(preview->words, true);
    text_line(context.ui(), fonts.label, colors.text, words.empty() ? " " : elide(fonts.label, words, width));
}

void open_path(PanelContext& context, std::string path) {
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const FileTask task = std::exchange(context.view.files.task, FileTask::None);
    if (task == FileTask::Beside) put_model_beside(context.view, path);
    else if (task == FileTask::Tokenizer) put_tokenizer_beside(context.view, path);
    else if (task == FileTask::Dump) examine_dump(context, path);
    else if (task == FileTask::TrainingText) load_training_text(context, path);
    else if (const auto& missing = context.files.missing_model; task == FileTask::Model && missing)
        context.commands.push_back({command::OpenFile{missing->document, path, missing->model}, ""});
    else context.commands.push_back({command::OpenFile{path}, ""});
}

const char* sheet_title(FileTask task) {
    switch (task) {
    case FileTask::Beside:
        return "Compare the weights with";
    case FileTask::Tokenizer:
        return "Choose another tokenizer";
    case FileTask::Model:
        return "Choose the model of this document";
    case FileTask::Dump:
        return "Choose a file to examine";
    case FileTask::TrainingText:
        return "Choose a text to train on";
    default:
        return "Open";
    }
}

const char* path_hint(FileTask task) {
    switch (task) {
    case FileTask::Tokenizer:
        return "model name, or path of a model or a tokenizer.json";
    case FileTask::Beside:
    case FileTask::Model:
        return "model name, or path of its folder or GGUF file";
    case FileTask::Dump:
        return "path of a .safetensors or .npz file";
    case FileTask::TrainingText:
        return "path of a text in UTF-8";
    default:
        return "model name, or path of a file, a model folder or a run folder";
    }
}

void draw_filter(PanelContext& context) {
    static constexpr std::array<std::string_view, 5> kNames = {"all", "models, runs", "documents, lessons", "tensors", "texts"};
    int filter = static_cast<int>(context.view.files.filter);
    if (segmented(context.ui(), "##filter", kNames, filter, 0, {.tooltip = "Which files are listed; folders are always listed."})) {
        context.view.files.filter = static_cast<FileFilter>(filter);
        context.view.files.path.chosen = -1;
    }
}

}  // namespace

void examine_dump(PanelContext& context, const std::string& path) {
    context.view.doctor.path = path;
    context.view.doctor.closed.clear();
    context.view.doctor.finding = 0;
    context.commands.push_back({command::OpenDump{without_tilde(path)}, ""});
}

void load_training_text(PanelContext& context, const std::string& path) {
    context.view.train.text_path = path;
    context.commands.push_back({command::OpenTrainingText{without_tilde(path)}, ""});
}

void use_chosen_path(PanelContext& context, const std::string& path) { open_path(context, path); }

void draw_open_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    FileView& view = context.view.files;
    bool stays = begin_sheet(context, "##open_sheet", kSheetWidth);
    draw_sheet_heading(context, sheet_title(view.task), DesktopQuestion::What::OpenFile);
    gap(ui, 6);
    const bool models = models_are_listed(context);
    if (models) {
        find_models(context);
    } else {
        view.shelf = false;
        keep_listing(context);
        find_completions(context);
    }
    const std::string text = view.path.text;
    const int chosen = view.path.chosen;
    const PathFieldResult typed = path_field(ui, "##path", view.path, path_hint(view.task));
    end_refusal_of_path(context, typed.changed);
    gap(ui, 8);
    if (models) draw_models_folder(context);
    else if (view.task == FileTask::Open) draw_filter(context);
    gap(ui, 8);
    const float room = ImGui::GetIO().DisplaySize.y * 0.72F - context.px(260);
    const float height = std::clamp(room, context.px(4 * kRow), context.px(kMostRows * kRow));
    bool opens = false;
    draw_places(context, height);
    ImGui::SameLine(0, context.px(16));
    draw_contents(context, height, opens);
    gap(ui, 8);
    const FilePreview* preview = keep_preview(context);
    const std::string refused = models ? why_model_is_refused(context, preview) : "";
    draw_preview(context, preview, refused);
    gap(ui, 8);
    const bool is_name = names_no_model(context);
    const std::string not_yet = !refused.empty() ? refused
                                : is_name        ? "No listed model has this name."
                                                 : why_not_openable(view.task, path_to_open(context), preview);
    if (refused.empty()) {
        if (button(ui, view.task == FileTask::Open ? "Open##do" : "Choose##do",
                   {.look = ButtonLook::Accent, .width = 120, .notes = {.disabled = not_yet}}))
            opens = true;
        ImGui::SameLine(0, context.px(8));
    }
    if (button(ui, "Cancel", {.width = 100, .notes = {.tooltip = "Esc"}})) stays = false;
    ImGui::SameLine(0, context.px(16));
    text_line(ui, fonts.caption, colors.faint, "type to filter, up and down choose, Enter opens, Backspace goes up");
    if (typed.entered && !refused.empty()) view.path.text = text, view.path.chosen = chosen;  // its path would leave the list
    else if (const int line = line_for_enter(context); typed.entered && line >= 0)
        view.path.text = view.path.completions[static_cast<std::size_t>(line)];
    if (opens && not_yet.empty()) open_path(context, path_to_open(context));
    else if (typed.entered && refused.empty() && !is_name && may_enter(view.task, without_tilde(view.path.text), preview))
        open_path(context, without_tilde(view.path.text));
    else if (typed.entered || opens) view.path.focus = true;  // Enter on a folder lists it
    if (!stays || key_pressed(Key::Escape, false)) view.task = FileTask::None;
    end_sheet(context);
}

}  // namespace attn::app
