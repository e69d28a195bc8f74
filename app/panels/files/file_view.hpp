#pragma once
/// What the person is doing with files: the sheet that asks for a path, and notices.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "app/session/files/desktop_dialog.hpp"
#include "app/widgets/path_field.hpp"

namespace attn::app {

/// Beside: a file of the same model is opened to be compared with; Tokenizer: one to be followed beside the model's own.
enum class FileTask : std::uint8_t { None, Open, Beside, Tokenizer, Save, SaveRun, Export };
/// A file that is there is chosen.
inline bool chooses_file(FileTask task) { return task == FileTask::Open || task == FileTask::Beside || task == FileTask::Tokenizer; }

/// The way from the wish to close the window to its end.
enum class Closing : std::uint8_t { No, Asked, Saving, Now };
/// What is being saved on that way.
enum class ClosingPart : std::uint8_t { None, Document, Run };

enum class RestoreAnswer : std::uint8_t { None, Restore, Discard, Later };

/// What an export becomes, in the order of the sheet's choices.
enum class ExportAs : std::uint8_t { Png, Svg, Csv, Npy, Trace, Operands };
inline constexpr int kExportFormats = 6;

/// What the list of the Open sheet shows besides folders, in the order of its choices.
enum class FileFilter : std::uint8_t { All, Models, Documents, Tensors, Texts };

/// A picture of the view that is to be written; the platform draws it.
struct PictureWish {
    std::filesystem::path path;  ///< .png or .svg; empty: SVG for the clipboard
    float scale = 1;             ///< of a .png: pixels for every pixel of the window
    bool whole_window = false;   ///< else the centre alone
};

/// The desktop's own dialog in the place of our sheet.
struct DesktopDialog {
    bool preferred = false;                   ///< it is asked first
    bool there = false;                       ///< the desktop has one
    bool waiting = false;                     ///< the task is the dialog's
    std::optional<DesktopQuestion> question;  ///< for the platform to ask
    std::optional<DesktopAnswer> answer;      ///< that the platform brings
    std::string problem;                      ///< why our sheet stands in its place
};

struct FileView {
    FileTask task = FileTask::None;
    PathField path;
    ExportAs format = ExportAs::Png;
    bool whole_tensor = false;  ///< an export holds the whole tensor, not only what is shown
    int picture_scale = 2;
    bool whole_window = false;
    DesktopDialog desktop;
    std::optional<std::string> listed;  ///< the folder whose listing was asked for last
    FileFilter filter = FileFilter::All;
    bool shelf = false;                  ///< the list of the Open sheet is the person's models, not a folder
    std::string models_folder;           ///< where they keep their own; "" for nowhere
    std::optional<std::string> shelved;  ///< the models folder with which the models were asked for last
    std::string previewed;               ///< the path whose preview was asked for last
    std::optional<PictureWish> picture;  ///< for the platform to take
    std::uint64_t notice = 0;            ///< the one shown, or already gone
    double notice_until = 0;             ///< seconds
    Closing closing = Closing::No;
    ClosingPart closing_part = ClosingPart::None;
    std::uint64_t run_notices = 0;                ///< of the trainer when it was told to save the run
    RestoreAnswer restore = RestoreAnswer::None;  ///< for the application to act on
    bool open_menu = false;                       ///< the File menu opens in the next frame
};

}  // namespace attn::app
