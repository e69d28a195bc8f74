#pragma once
/// Opening, saving and exporting: the File menu, the sheet that asks for a path, and what became of it.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// The File menu's button at the cursor, as wide as returned (pixels).
float draw_file_menu(PanelContext& context);
/// True while a sheet about files has all keys.
bool file_sheet_is_open(const PanelContext& context);
/// True while a notice says what could not be done.
bool refusal_is_shown(const PanelContext& context);
/// The sheet that is open, if one is, and the notice about the last file.
void draw_file_sheet(PanelContext& context);

/// On the folder used last; on the models before anything was opened.
void begin_open(PanelContext& context);
/// On the models that the person has.
void begin_open_model(PanelContext& context);
/// To choose the other file of the opened model whose weights are compared with it, or the other tokenizer.
void begin_beside(PanelContext& context);
void begin_tokenizer(PanelContext& context);
/// Makes a file the one that is compared with, and shows it.
void put_model_beside(ViewState& view, const std::string& path);
void put_tokenizer_beside(ViewState& view, const std::string& path);
/// A file that was dropped on the window is put beside what is shown: a tokenizer, and any model where two are compared. False: it is to be
/// opened.
bool take_dropped(PanelContext& context, const std::string& path);
/// Saves where the document is, or asks where.
void begin_save(PanelContext& context, bool ask);
void begin_save_run(PanelContext& context);
void begin_export(PanelContext& context);
void copy_snippet(PanelContext& context, bool torch);

/// Closes the window, after a question when something would be lost.
void close_window(PanelContext& context);
/// The question, while it is open, and the saving that follows from its answer.
void draw_close_sheet(PanelContext& context);
/// The question whether to take up work of a process that is gone.
void draw_restore_sheet(PanelContext& context);

/// A card in the upper half of the window; false when the mouse was pressed outside of it. ImGui::End() follows.
bool begin_sheet(const PanelContext& context, const char* id, float logical_width);

/// "attnscope", with the document's name, and a dot where it is not saved.
std::string window_title(const FilesState& files);

}  // namespace attn::app
