#pragma once
/// Opening, saving and exporting: the File menu, the sheets that ask for a path, and notices.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws the button of the File menu at the cursor.
void draw_file_menu(PanelContext& context);
/// Draws its items inside an open menu.
void draw_file_items(PanelContext& context);
/// Whether a file sheet is open, which then receives all keys.
bool file_sheet_is_open(const PanelContext& context);
/// Draws the open sheet, if any, the progress of a long export at the foot of the picture, and notices.
void draw_file_sheet(PanelContext& context, const Box& picture);
/// Draws the notice about the last file operation under the picture's title, or leaves it to the open sheet.
void draw_notices(PanelContext& context, const Box& picture);
/// The same inside of a sheet.
void draw_notice_in_sheet(PanelContext& context);

/// Opens the first example, as at the first start.
void begin_new(PanelContext& context);
/// Opens the Open sheet at the folder used last, or at the models if nothing has been opened yet.
void begin_open(PanelContext& context);
/// The same for the folder of a run: where files are not listed, the system's dialog chooses a folder.
void begin_open_run(PanelContext& context);
/// Opens the Open sheet at the user's models.
void begin_open_model(PanelContext& context);
/// Open a sheet to choose the file whose weights are compared with the opened model's, or another tokenizer.
void begin_beside(PanelContext& context);
void begin_tokenizer(PanelContext& context);
/// What a link to what is shown holds, for tooltips.
inline constexpr const char* kLinkWords = "The document with its masks and edits, and where you look at it, to be opened in a browser.";

inline constexpr float kBrowseButton = 34;  ///< width in logical pixels of one without words
/// Draws a button beside a field for a path, which opens a sheet to choose the file; `typed`: what is in the field now.
void draw_browse_button(PanelContext& context, const char* id, FileTask task, const std::string& typed, float width = kBrowseButton);
/// Use a typed or chosen path.
void examine_dump(PanelContext& context, const std::string& path);
void load_training_text(PanelContext& context, const std::string& path);
/// Compare with the weights or the tokenizer in a file, and show the comparison.
void put_model_beside(ViewState& view, const std::string& path);
void put_tokenizer_beside(ViewState& view, const std::string& path);
/// Uses a file dropped onto the window for the current comparison: a tokenizer, or a model in the Precision view. Returns false if it
/// should be opened instead.
bool take_dropped(PanelContext& context, const std::string& path);
/// Saves to the document's file, or asks for a path.
/// A document that shows a training run is saved together with it.
void begin_save(PanelContext& context, bool ask);
/// The same for a training run that may not be shown, the current or a kept one.
void begin_save_run(PanelContext& context, std::uint64_t run, bool ask = false);
/// Saves a run in the folder, with the document if that shows it.
void save_run(PanelContext& context, std::uint64_t run, const std::filesystem::path& folder);
void begin_export(PanelContext& context);
/// Opens the Export sheet for the lesson that is open, or that got a step last, as one HTML page.
void begin_lesson_page(PanelContext& context);
/// Asks how what is shown is called as a step of a lesson, and makes it.
void begin_lesson_step(PanelContext& context);
void draw_lesson_step_sheet(PanelContext& context);
/// Shows the lines that record one's own code, and what to do with them.
void begin_own_code(PanelContext& context);
void draw_own_code_sheet(PanelContext& context);
/// The lesson for the page; null if there is none.
std::shared_ptr<const Lesson> lesson_of_page(const PanelContext& context);
/// Opens the sheet of a task. `name`: a path, or a name in the folder used last.
void begin_path_sheet(PanelContext& context, FileTask task, const std::string& name);
void copy_snippet(PanelContext& context, bool torch);

/// Closes the window, after a question if work would be lost.
void close_window(PanelContext& context);
/// Draws that question, and carries out the saving it leads to.
void draw_close_sheet(PanelContext& context);
/// Whether a document could not be opened because its model is missing, and the user has not answered where it is.
bool asks_for_model(const PanelContext& context);
/// Asks for it.
void draw_missing_model_sheet(PanelContext& context);
/// Opens a sheet to choose it.
void begin_choosing_model(PanelContext& context);
/// Whether there is work of an ended process, and the user has not put the question off.
bool asks_to_restore(const PanelContext& context);
/// Asks whether to restore it.
void draw_restore_sheet(PanelContext& context);

/// Begins a card in the upper half of the window; false if the user clicked outside of it.
bool begin_sheet(const PanelContext& context, const char* id, float logical_width);
/// The same for a question that must be answered first: the rest of the window fades and cannot be clicked.
void begin_modal_sheet(const PanelContext& context, const char* id, float logical_width);
/// Ends either, with what there is to be told.
void end_sheet(PanelContext& context);

/// Whether saving found something in the way, and the user has not answered.
bool asks_about_replacing(const PanelContext& context);
/// Asks whether it may be replaced.
void draw_replace_sheet(PanelContext& context);

/// The name by which the user knows a document's file; "" if there is none.
std::string document_name(const std::filesystem::path& document);
/// "attnscope" with the document's name, and a dot if it or the run has changes that are not saved.
std::string window_title(const FilesState& files, bool run_is_unsaved = false);

}  // namespace attn::app
