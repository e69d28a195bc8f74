#pragma once
/// Draws heatmaps: numbers go to the GPU once, the fragment shader turns them into colours at any zoom.

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

/// Pixels from the top left corner of the target.
struct PixelRect {
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    bool operator==(const PixelRect&) const = default;
};

/// A heatmap ready to be drawn in the frame it was prepared in.
struct PreparedHeatmap {
    struct Tile {
        GLuint texture = 0;
        PixelRect rect;                  ///< pixels that this tile covers
        float first_x = 0, first_y = 0;  ///< texel at `origin`, counted from the tile's first
        int width = 0, height = 0;
    };
    float origin_x = 0, origin_y = 0;  ///< pixels
    float step_x = 0, step_y = 0;      ///< texels per pixel
    float apart_x = 0, apart_y = 0;    ///< texels from a pixel's centre to its samples
    ValueScale scale;
    ColorMap map = ColorMap::Sequential;
    float grid = 0;     ///< width of the lines in pixels, 0 = none
    float opacity = 1;  ///< below 1 it is mixed with what is there
    std::vector<Tile> tiles;
};

/// Needs a current OpenGL 3.3 context during its whole life.
class HeatmapRenderer {
public:
    /// Textures kept besides those of the last frame. Every new trace brings new ones, and small ones take the driver ten times the bytes
    /// of their texels.
    static constexpr std::size_t kMaxTiles = 256;

    /// Keeps textures of about `cache_bytes`, at most kMaxTiles; those of the last frame are always kept. Throws GlError.
    explicit HeatmapRenderer(ShaderSource shaders, std::size_t cache_bytes = std::size_t{256} << 20);

    /// Colours of what surrounds the heatmaps of the coming frame; forgets old textures; takes changed shader files, if they come
    /// from a folder. Call once a frame before the first prepare().
    /// `for_uploads`: once the frame has spent so long on numbers that were not on the GPU yet, maps that need more are left out; the first
    /// never is. None: all are there.
    void begin_frame(const HeatmapTheme& theme, std::optional<std::chrono::steady_clock::duration> for_uploads = {});
    /// Some map of this frame was left out.
    bool left_out() const { return left_out_; }
    /// Uploads what is not on the GPU yet and is inside both `rect` and `visible`; no tiles for a map that is left out. Throws
    /// std::invalid_argument for a matrix whose stride is less than its width, or a map of Auto.
    PreparedHeatmap prepare(const HeatmapRequest& request, const PixelRect& rect, const PixelRect& visible);
    /// Draws into the bound framebuffer of that size. Changes program, vertex array, textures and blending; respects the scissor.
    void draw(const PreparedHeatmap& heatmap, int target_width, int target_height);

    /// Colour of one number as the shader draws it.
    std::uint32_t color(const HeatmapStyle& style, float value) const;
    /// Why the newest shader files are not used, "" when they are.
    const std::string& shader_problem() const { return shader_problem_; }
    std::size_t cached_bytes() const { return cached_bytes_; }
    std::size_t cached_tiles() const { return tiles_.size(); }
    /// Tiles sent to the GPU so far.
    std::uint64_t uploads() const { return uploads_; }

private:
    struct CacheKey {
        std::uint64_t data = 0;
        std::int64_t rows = 0, cols = 0;
        TilePlace place;
        ColorMap per_row_map = ColorMap::Auto;  ///< Auto: the numbers themselves
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

    /// What a program leaves out, as software renderers carry out both sides of every branch.
    enum Variant : unsigned { kMany = 1, kLogarithmic = 2, kGrid = 4, kVariants = 8 };
    using Programs = std::array<std::unique_ptr<ShaderProgram>, kVariants>;

    std::unique_ptr<ShaderProgram> load_program(unsigned variant) const;
    void reload_changed_shaders();
    void forget_old_tiles();
    /// Null where the frame has no time left for it.
    const CachedTile* tile(const HeatmapRequest& request, const TilePlace& place, std::uint64_t key);

    ShaderSource shaders_;
    std::size_t cache_bytes_, cached_bytes_ = 0;
    std::uint64_t frame_ = 0, uploads_ = 0, anonymous_ = 0;
    Programs programs_;  ///< made when they are first needed
    VertexArrayHandle vertex_array_;
    std::optional<HeatmapTheme> theme_;
    std::array<ColorTable, kColorMapCount> tables_{};
    std::array<TextureHandle, kColorMapCount> table_textures_;
    Tiles tiles_;  ///< most recently used first
    std::unordered_map<CacheKey, Tiles::iterator, CacheHash> index_;
    std::chrono::steady_clock::duration uploading_{};  ///< in this frame
    std::optional<std::chrono::steady_clock::duration> for_uploads_;
    bool left_out_ = false;
    std::chrono::steady_clock::time_point shaders_checked_{};
    std::array<std::filesystem::file_time_type, 2> shader_times_{};
    std::string shader_problem_;
};

}  // namespace attn::app
