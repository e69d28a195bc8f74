#pragma once
/// The list of the user's models in the Open sheet.

#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// What is offered to open a model, for tooltips: where files are not listed, other words.
std::string_view opened_models(const PanelContext& context);

/// Switches the sheet to the list of models.
void show_models(PanelContext& context);
/// Whether models are listed, which is the case until a path is typed.
bool models_are_listed(const PanelContext& context);
/// Requests the list of models and makes those whose names contain the typed text the field's completions.
void find_models(PanelContext& context);

/// The text of a line in the list.
struct ModelLine {
    std::string name, note;
};
ModelLine model_line(const PanelContext& context, const std::string& path);
/// Why a listed model cannot be opened; "" if no problem is known.
std::string problem_of_listed(const PanelContext& context, const std::string& path);

/// Shows the models folder, in place of the file filter.
void draw_models_folder(PanelContext& context);
/// A button that makes the listed folder the models folder.
void draw_models_folder_choice(PanelContext& context);
/// Explains where models come from and which are good to start with; shown below the list.
void draw_model_sources(const PanelContext& context);

/// Such as "548.1 MB".
std::string bytes_words(std::uint64_t bytes);

}  // namespace attn::app
