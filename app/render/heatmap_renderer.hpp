#pragma once
/// Draws heatmaps: numbers are uploaded to the GPU once, and the fragment shader maps them to colours at any zoom.

#include <array>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/render/cell_tiles.hpp"
#include "app/render/color_map.hpp"
#include "app/render/gl_objects.hpp"
#include "app/render/shader_program.hpp"
#include "app/widgets/value_scale.hpp"

namespace attn::app {

/// Pixels, relative to the target's top left corner.
struct PixelRect {
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    bool operator==(const PixelRect&) const = default;
};

/// A heatmap ready to be drawn; valid for the frame in which it was prepared.
struct PreparedHeatmap {
    struct Tile {
        GLuint texture = 0;
        PixelRect rect;                  ///< pixels covered by this tile
        float first_x = 0, first_y = 0;  ///< texel at `origin`, relative to the tile's first
        int width = 0, height = 0;
    };
    float origin_x = 0, origin_y = 0;  ///< in pixels
    float step_x = 0, step_y = 0;      ///< texels per pixel
    float apart_x = 0, apart_y = 0;    ///< texels from a pixel's centre to its samples
    ValueScale scale;
    ColorMap map = ColorMap::Sequential;
    float grid = 0;     ///< line width in pixels, 0 = no grid
    float opacity = 1;  ///< below 1 it is blended with what is already drawn
    std::vector<Tile> tiles;
};

/// Needs a current OpenGL 3.3 context throughout its lifetime.
class HeatmapRenderer {
public:
    /// The most textures kept besides those of the last frame. Every new trace brings new ones, and for small textures drivers allocate
    /// about ten times their size.
    static constexpr std::size_t kMaxTiles = 256;

    /// Keeps about `cache_bytes` of textures, at most kMaxTiles; those of the last frame are always kept. Throws GlError.
    explicit HeatmapRenderer(ShaderSource shaders, std::size_t cache_bytes = std::size_t{256} << 20);

    /// Begins a frame with this theme: evicts old textures and reloads changed shader files if shaders come from a folder. To be called
    /// once per frame before the first prepare(). `for_uploads`: once uploads have taken this long in the frame, maps that need further
    /// ones are left out, but never the first map. None: no limit.
    void begin_frame(const HeatmapTheme& theme, std::optional<std::chrono::steady_clock::duration> for_uploads = {});
    /// Whether a map of this frame was left out.
    bool left_out() const { return left_out_; }
    /// Uploads tiles inside both `rect` and `visible` that are not cached yet; returns no tiles for a map that is left out. Throws
    /// std::invalid_argument for a matrix whose stride is less than its width, or for the map Auto.
    PreparedHeatmap prepare(const HeatmapRequest& request, const PixelRect& rect, const PixelRect& visible);
    /// Draws into the bound framebuffer of that size. Changes the program, vertex array, textures and blending; respects the scissor
    /// rectangle.
    void draw(const PreparedHeatmap& heatmap, int target_width, int target_height);

    /// The colour of a number, identical to the shader's.
    std::uint32_t color(const HeatmapStyle& style, float value) const;
    /// Why the latest shader files are not in use; "" if they are.
    const std::string& shader_problem() const { return shader_problem_; }
    std::size_t cached_bytes() const { return cached_bytes_; }
    std::size_t cached_tiles() const { return tiles_.size(); }
    /// Tiles uploaded so far.
    std::uint64_t uploads() const { return uploads_; }

private:
    struct CacheKey {
        std::uint64_t data = 0;
        std::int64_t rows = 0, cols = 0;
        TilePlace place;
        ColorMap per_row_map = ColorMap::Auto;  ///< Auto: not a per-row style
        bool per_row_log = false;
        bool operator==(const CacheKey&) const = default;
    };
    struct CacheHash {
        std::size_t operator()(const CacheKey& key) const;
    };
    struct CachedTile {
        CacheKey key;
        TextureHandle texture;
        std::int64_t first_x = 0, first_y = 0;
        int width = 0, height = 0;
        std::uint64_t last_frame = 0;
        std::size_t bytes() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * sizeof(std::uint32_t); }
    };
    using Tiles = std::list<CachedTile>;

    /// Optional shader features, compiled as variants because software renderers execute both sides of every branch.
    enum Variant : unsigned { kMany = 1, kLogarithmic = 2, kGrid = 4, kVariants = 8 };
    using Programs = std::array<std::unique_ptr<ShaderProgram>, kVariants>;

    std::unique_ptr<ShaderProgram> load_program(unsigned variant) const;
    void reload_changed_shaders();
    void forget_old_tiles();
    /// The cached or newly uploaded tile; null if the upload budget of the frame is used up.
    const CachedTile* tile(const HeatmapRequest& request, const TilePlace& place, std::uint64_t key);

    ShaderSource shaders_;
    std::size_t cache_bytes_, cached_bytes_ = 0;
    std::uint64_t frame_ = 0, uploads_ = 0, anonymous_ = 0;
    Programs programs_;  ///< compiled on first use
    VertexArrayHandle vertex_array_;
    std::optional<HeatmapTheme> theme_;
    std::array<ColorTable, kColorMapCount> tables_{};
    std::array<TextureHandle, kColorMapCount> table_textures_;
    Tiles tiles_;  ///< most recently used first
    std::unordered_map<CacheKey, Tiles::iterator, CacheHash> index_;
    std::chrono::steady_clock::duration uploading_{};  ///< spent in this frame
    std::optional<std::chrono::steady_clock::duration> for_uploads_;
    bool left_out_ = false;
    std::chrono::steady_clock::time_point shaders_checked_{};
    std::array<std::filesystem::file_time_type, 2> shader_times_{};
    std::string shader_problem_;
};

}  // namespace attn::app
