#pragma once
/// What the person is doing with files: the sheet that asks for a path, and notices.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "app/widgets/path_field.hpp"

namespace attn::app {

enum class FileTask : std::uint8_t { None, Open, Save, Export };

/// What an export becomes, in the order of the sheet's choices.
enum class ExportAs : std::uint8_t { Png, Svg, Csv, Npy, Trace, Operands };
inline constexpr int kExportFormats = 6;

/// A picture of the view that is to be written; the platform draws it.
struct PictureWish {
    std::filesystem::path path;  ///< .png or .svg
    float scale = 1;             ///< of a .png: pixels for every pixel of the window
    bool whole_window = false;   ///< else the centre alone
};

struct FileView {
    FileTask task = FileTask::None;
    PathField path;
    ExportAs format = ExportAs::Png;
    bool whole_tensor = false;  ///< an export holds the whole tensor, not only what is shown
    int picture_scale = 2;
    bool whole_window = false;
    std::optional<std::string> listed;   ///< the folder whose listing was asked for last
    std::optional<PictureWish> picture;  ///< for the platform to take
    std::uint64_t notice = 0;            ///< the one shown, or already gone
    double notice_until = 0;             ///< seconds
    bool open_menu = false;              ///< the File menu opens in the next frame
};

}  // namespace attn::app
