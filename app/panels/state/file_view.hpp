#pragma once
/// The state of the file dialogs: the open sheet, its path, and notices.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "app/session/document/commands.hpp"
#include "app/session/document/view.hpp"
#include "app/session/files/desktop_dialog.hpp"
#include "app/widgets/path_field.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

/// Beside: choose a file of the same model to compare with. Tokenizer: choose a tokenizer to compare with the model's own. Model: choose
/// the model of a document that is not where the document says. Dump and TrainingText: choose what could be typed beside the button.
/// SaveRun: choose a folder for a training run. LessonStep: what is shown becomes a step of a lesson file. OwnCode: how to record one's
/// own code. SavePython: a Python file for that.
enum class FileTask : std::uint8_t {
    None,
    Open,
    Beside,
    Tokenizer,
    Model,
    Dump,
    TrainingText,
    Save,
    SaveRun,
    Export,
    LessonStep,
    OwnCode,
    SavePython
};
/// Whether the task is to choose an existing file.
inline bool chooses_file(FileTask task) { return task >= FileTask::Open && task <= FileTask::TrainingText; }

/// The steps of closing the window.
enum class Closing : std::uint8_t { No, Asked, Saving, Now };
enum class RestoreAnswer : std::uint8_t { None, Restore, Discard };

/// The export formats, in the order of the sheet.
enum class ExportAs : std::uint8_t { Png, Svg, Csv, Npy, Trace, Operands, Page };
inline constexpr int kExportFormats = 7;
inline constexpr std::array<const char*, kExportFormats> kExportEndings = {".png", ".svg", ".csv", ".npy", ".safetensors", ".npz", ".html"};
inline const char* ending_of(ExportAs format) { return kExportEndings[static_cast<std::size_t>(format)]; }

/// Which files the Open sheet lists besides folders, in the order of its choices. Beside lists models alone.
enum class FileFilter : std::uint8_t { All, Models, Documents, Tensors, Texts };

/// A request to write a picture of the view; carried out by the platform layer.
struct PictureWish {
    std::filesystem::path path;  ///< .png or .svg; empty: SVG to the clipboard
    float scale = 1;             ///< for .png: pixels of the picture per pixel of the window
    bool whole_window = false;   ///< otherwise only the centre pane
};

/// The state of the desktop's file dialog.
struct DesktopDialog {
    bool preferred = false;                   ///< use it instead of our sheet
    bool there = false;                       ///< the desktop has such a dialog
    bool waiting = false;                     ///< the dialog is open
    std::optional<DesktopQuestion> question;  ///< to be passed on by the application
    std::optional<DesktopAnswer> answer;      ///< passed back by the application
    std::string problem;                      ///< why our sheet is shown instead
};

/// The step of a lesson that is being described.
struct LessonStepDraft {
    std::string title, caption;
    std::string proposed_title{}, proposed_caption{};  ///< what these were before the user changed them
    enum class Field : std::uint8_t { None, Title, Sentence };
    Field focus = Field::None;            ///< it takes the keyboard in the next frame
    std::optional<std::uint64_t> sent{};  ///< FilesState::lesson_steps when it was told to be made; none: it was not
};

/// Notices about file operations: the last outcome for some seconds; an error until it is dismissed, its cause is gone or, after these
/// seconds, something succeeds. Times in seconds.
struct NoticeView {
    std::uint64_t number = 0;      ///< of the last notice seen
    double until = 0;              ///< time until which it is shown, unless it is an error
    std::string refusal;           ///< the last error, "" if there is none
    double refused_at = 0;         ///< when it came
    bool has_succeeded = false;    ///< something has since
    NoticeOf of = NoticeOf::File;  ///< what the error is about
    std::uint64_t ended = 0;       ///< FilesState::ended for that when it came
    View view = View::Step;        ///< where it came, with the stage and head
    StageId stage;
    std::int64_t head = 0;
    bool shows_error() const { return !refusal.empty(); }
    bool says(double now) const { return now < until || shows_error(); }
};

struct FileView {
    FileTask task = FileTask::None;
    int own_code = 0;    ///< of the ways to record that the OwnCode sheet shows
    std::string python;  ///< name of the file that SavePython writes
    LessonStepDraft lesson_step;
    PathField path;
    std::string opened_at;  ///< the path's text when the sheet was opened
    ExportAs format = ExportAs::Png;
    ExportAs exported_as = ExportAs::Png;  ///< format of the last export
    std::string export_folder;             ///< of the last export, with a trailing slash; "" if there was none
    bool whole_tensor = false;             ///< export the whole tensor instead of the shown part
    int picture_scale = 2;
    bool whole_window = false;
    DesktopDialog desktop;
    std::optional<std::string> listed;  ///< folder of the last requested listing
    FileFilter filter = FileFilter::All;
    bool shelf = false;                  ///< the Open sheet lists models instead of a folder
    std::string models_folder;           ///< the user's models folder, "" if none is set
    std::optional<std::string> shelved;  ///< models folder of the last requested list of models
    std::string previewed;               ///< path of the last requested preview
    std::optional<PictureWish> picture;  ///< to be passed on by the application
    NoticeView notices;
    std::optional<double> exporting_since;  ///< when the export under way was first seen
    std::uint64_t models_answered = 0;      ///< FilesState::missing_models when the user was last asked for a missing model
    Closing closing = Closing::No;
    std::optional<std::uint64_t> closing_part{};  ///< what was told to be saved last before closing: a run, or 0 for the document
    std::uint64_t saved_run = 0;                  ///< by the SaveRun sheet
    std::uint64_t ways_answered = 0;              ///< FilesState::ways when the user was last asked about replacing
    RestoreAnswer restore = RestoreAnswer::None;  ///< to be handled by the application
    bool restore_later = false;                   ///< the question was put off
    bool wants_link = false;                      ///< to what is shown; to be passed on by the application
};

}  // namespace attn::app
