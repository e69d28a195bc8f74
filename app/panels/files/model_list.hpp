#pragma once
/// The models that the person has, as the Open sheet lists them in place of a folder.

#include <string>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Turns the sheet to the models.
void show_models(PanelContext& context);
/// Whether models are listed: until a path is typed.
bool models_are_listed(const PanelContext& context);
/// Asks for the models, and makes those whose names have in them what is typed the field's completions.
void find_models(PanelContext& context);

/// What a line of the list shows of the model at this path.
struct ModelLine {
    std::string name, note;
};
ModelLine model_line(const PanelContext& context, const std::string& path);

/// The models folder, in place of the filter of files.
void draw_models_folder(PanelContext& context);
/// Makes the folder whose contents are listed the models folder.
void draw_models_folder_choice(PanelContext& context);
/// Where models come from and which are good to begin with; below the models that there are.
void draw_model_sources(const PanelContext& context);

/// "548.1 MB"
std::string bytes_words(std::uint64_t bytes);

}  // namespace attn::app
