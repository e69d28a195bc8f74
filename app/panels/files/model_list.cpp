#include "app/panels/files/model_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "app/panels/kit/folder_view.hpp"
#include "app/panels/kit/lower_case.hpp"
#include "app/session/files/model_shelf.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/field_text.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr std::array<const char*, 4> kSources = {
    "A folder cloned or downloaded from Hugging Face: config.json, .safetensors files and a tokenizer.",
    "The cache that transformers keeps ({}): its models are listed here automatically.",
    "GGUF files from llama.cpp, and the models that Ollama has pulled: they are listed here too.",
    "Good ones to start with: openai-community/gpt2, EleutherAI/pythia-70m, HuggingFaceTB/SmolLM2-135M, Qwen/Qwen2.5-0.5B. attnscope "
    "itself downloads nothing."};

/// The path with the home folder shortened to "~".
std::string short_path(const std::string& path) {
    const char* home = std::getenv("HOME");
    const std::string base = home == nullptr ? "" : home;
    return visible_text(base.size() > 1 && path.starts_with(base + "/") ? "~" + path.substr(base.size()) : path, true);
}

const ModelShelf* shelf_of(const PanelContext& context) {
    const ModelShelf* shelf = context.files.models.get();
    return shelf != nullptr && shelf->folder == context.view.files.models_folder ? shelf : nullptr;
}

/// Null if it is not listed.
const ModelShelf::Model* listed_model(const PanelContext& context, const std::string& path) {
    const ModelShelf* shelf = shelf_of(context);
    if (shelf == nullptr) return nullptr;
    const auto it = std::find_if(shelf->models.begin(), shelf->models.end(), [&](const auto& model) { return model.path == path; });
    return it == shelf->models.end() ? nullptr : &*it;
}

const char* place_words(ModelShelf::Place place) {
    switch (place) {
    case ModelShelf::Place::Recent:
        return "recent";
    case ModelShelf::Place::Folder:
        return "models folder";
    case ModelShelf::Place::Cache:
        return "cache";
    }
    return "";
}

std::string note_of(const ModelShelf::Model& model) {
    if (!model.problem.empty()) return model.problem.size() < 40 ? model.problem : "cannot be opened";
    return model.bytes == 0 ? place_words(model.place) : fmt::format("{}   {:>8}", place_words(model.place), bytes_words(model.bytes));
}

std::string with_hub(std::string source, const std::string& hub) {
    if (const std::size_t at = source.find("{}"); at != std::string::npos) source.replace(at, 2, short_path(hub));
    return source;
}

void use_models_folder(PanelContext& context, std::string folder) {
    if (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    context.view.files.models_folder = std::move(folder);
    show_models(context);
}

}  // namespace

std::string bytes_words(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} B", bytes);
    if (bytes < 1'000'000) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
    if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string_view opened_models(const PanelContext& context) {
    return context.abilities.lists_files
               ? "Recently opened models, those in your models folder, and those downloaded for transformers, llama.cpp or Ollama."
               : "A GGUF file; the folder of a model is opened by “Open a folder…”.";
}

void show_models(PanelContext& context) {
    FileView& view = context.view.files;
    view.shelf = true;
    view.shelved.reset();
    view.path.text.clear();
    view.path.chosen = -1;
    view.path.focus = true;
    stop_typing();  // the field only shows the new text once it is reactivated
}

bool models_are_listed(const PanelContext& context) {
    const FileView& view = context.view.files;
    return view.shelf && view.path.text.find('/') == std::string::npos && !view.path.text.starts_with('~');
}

void find_models(PanelContext& context) {
    FileView& view = context.view.files;
    if (view.shelved != view.models_folder) {
        view.shelved = view.models_folder;
        context.commands.push_back({command::ListModels{view.models_folder}, ""});
    }
    view.path.completions.clear();
    const ModelShelf* shelf = shelf_of(context);
    if (shelf == nullptr) return;
    const std::string typed = lower_case(view.path.text);
    for (const ModelShelf::Model& model : shelf->models)
        if (lower_case(model.name).find(typed) != std::string::npos) view.path.completions.push_back(model.path.string());
}

ModelLine model_line(const PanelContext& context, const std::string& path) {
    if (const ModelShelf::Model* model = listed_model(context, path)) return {visible_text(model->name, true), note_of(*model)};
    return {visible_text(path, true), ""};
}

std::string problem_of_listed(const PanelContext& context, const std::string& path) {
    const ModelShelf::Model* model = listed_model(context, path);
    return model == nullptr ? "" : model->problem;
}

void draw_models_folder(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const std::string& folder = context.view.files.models_folder;
    const ModelShelf* shelf = shelf_of(context);
    ImGui::BeginGroup();
    if (folder.empty()) {
        text_line(ui, fonts.label, colors.muted, "Models folder: none. Go to one and choose “Use as models folder”.");
    } else {
        const std::string problem = shelf != nullptr && !shelf->folder_problem.empty() ? " cannot be read: " + shelf->folder_problem : "";
        const float room = ImGui::GetContentRegionAvail().x - context.px(90);
        text_line(ui, fonts.label, problem.empty() ? colors.muted : colors.chosen_text,
                  elide(fonts.label, "Models folder: " + short_path(folder) + problem, room));
        ImGui::SameLine(0, context.px(12));
        if (link(ui, "Forget it", "The folder stays as it is; its models are no longer listed here.")) use_models_folder(context, "");
    }
    ImGui::EndGroup();
}

void draw_models_folder_choice(PanelContext& context) {
    const std::string here = without_tilde(folder_part(context.view.files.path.text));
    const std::string& folder = context.view.files.models_folder;
    if (models_are_listed(context) || here.empty() || here == folder + "/") return;
    gap(context.ui(), 8);
    if (link(context.ui(), "Use as models folder", "From now on, its models, and those one folder deeper, are listed under Models."))
        use_models_folder(context, here);
}

void draw_model_sources(const PanelContext& context) {
    const ModelShelf* shelf = shelf_of(context);
    if (shelf == nullptr) return;
    const auto& [colors, fonts, scale] = context.theme;
    const PathField& field = context.view.files.path;
    if (!field.text.empty()) {
        if (field.completions.empty())
            paragraph(context.ui(), fonts.label, colors.muted,
                      fmt::format("No model's name contains “{}”. A path begins with / or ~.", visible_text(field.text, true)));
        return;
    }
    gap(context.ui(), 6);
    if (shelf->models.empty()) paragraph(context.ui(), fonts.label, colors.text, "No models yet. They come from:");
    for (const char* source : kSources) {
        gap(context.ui(), 5);
        paragraph(context.ui(), fonts.label, colors.faint, with_hub(source, shelf->hub.string()));
    }
}

}  // namespace attn::app
