#include "app/render/heatmap_renderer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace attn::app {

namespace {

constexpr const char* kVertexShader = "heatmap.vert";
constexpr const char* kFragmentShader = "heatmap.frag";
/// Cells smaller than this (in logical pixels) get no grid lines, which would cover too much of them.
constexpr double kSmallestGridCell = 8;
/// Cache keys for data without an identity; keys of other data are counters and never get this large.
constexpr std::uint64_t kAnonymousKeys = std::uint64_t{1} << 63;

/// Maps the cells of one axis to pixels.
struct AxisView {
    double origin = 0;  ///< pixel at which cell `first` begins
    double first = 0;   ///< in cells
    double cells_per_pixel = 0;
    std::int64_t begin = 0, end = 0;  ///< visible cells; none where an axis has no extent, in cells or in pixels
    double pixel(double cell) const { return origin + (cell - first) / cells_per_pixel; }
};

AxisView axis_view(float pixel0, float pixel1, float visible0, float visible1, float first, float last, std::int64_t cells) {
    AxisView view;
    view.origin = pixel0;
    view.first = first;
    view.cells_per_pixel = (static_cast<double>(last) - first) / (static_cast<double>(pixel1) - pixel0);
    if (!(view.cells_per_pixel > 0) || !std::isfinite(view.cells_per_pixel)) return view;
    const double from = first + (std::max(pixel0, visible0) - static_cast<double>(pixel0)) * view.cells_per_pixel;
    const double to = first + (std::min(pixel1, visible1) - static_cast<double>(pixel0)) * view.cells_per_pixel;
    view.begin = static_cast<std::int64_t>(std::clamp(std::floor(from), 0.0, static_cast<double>(cells)));
    view.end = static_cast<std::int64_t>(std::clamp(std::ceil(to), 0.0, static_cast<double>(cells)));
    return view;
}

void check(const HeatmapRequest& request) {
    const HeatmapData& data = request.data;
    if (request.style.map == ColorMap::Auto) throw std::invalid_argument("a heatmap's colour map must be chosen before it is drawn");
    if (data.rows < 0 || data.cols < 0 || (data.rows > 1 && data.col_stride == 1 && data.row_stride < ((data.cols - 1) >> data.level) + 1))
        throw std::invalid_argument("a heatmap of " + std::to_string(data.rows) + " x " + std::to_string(data.cols) + " cannot have rows " +
                                    std::to_string(data.row_stride) + " numbers apart");
}

}  // namespace

HeatmapRenderer::HeatmapRenderer(ShaderSource shaders, std::size_t cache_bytes)
    : shaders_(std::move(shaders)), cache_bytes_(cache_bytes), vertex_array_(make_vertex_array()) {
    programs_[0] = load_program(0);
}

std::unique_ptr<ShaderProgram> HeatmapRenderer::load_program(unsigned variant) const {
    std::string definitions;
    if ((variant & kMany) != 0) definitions += "#define MANY\n";
    if ((variant & kLogarithmic) != 0) definitions += "#define LOGARITHMIC\n";
    if ((variant & kGrid) != 0) definitions += "#define GRID\n";
    return std::make_unique<ShaderProgram>(kVertexShader, shaders_.read(kVertexShader), kFragmentShader, shaders_.read(kFragmentShader),
                                           definitions);
}

void HeatmapRenderer::reload_changed_shaders() {
    const auto now = std::chrono::steady_clock::now();
    if (shaders_.folder.empty() || now - shaders_checked_ < std::chrono::milliseconds(250)) return;
    const bool first_look = shaders_checked_ == std::chrono::steady_clock::time_point{};
    shaders_checked_ = now;
    std::error_code missing;  // ignored: a file may be missing briefly while an editor replaces it
    const std::array times{std::filesystem::last_write_time(shaders_.folder / kVertexShader, missing),
                           std::filesystem::last_write_time(shaders_.folder / kFragmentShader, missing)};
    if (missing || times == std::exchange(shader_times_, times) || first_look) return;
    try {
        Programs programs;  // loads all variants, so that errors show now and not when a variant is first used
        for (unsigned variant = 0; variant < kVariants; ++variant) programs[variant] = load_program(variant);
        programs_ = std::move(programs);
        shader_problem_.clear();
    } catch (const GlError& error) {
        shader_problem_ = error.what();
    }
}

void HeatmapRenderer::begin_frame(const HeatmapTheme& theme, std::optional<std::chrono::steady_clock::duration> for_uploads) {
    ++frame_;
    for_uploads_ = for_uploads;
    uploading_ = {};
    left_out_ = false;
    reload_changed_shaders();
    forget_old_tiles();
    if (theme_ == theme) return;
    theme_ = theme;
    for (int i = 1; i < kColorMapCount; ++i) {
        const auto at = static_cast<std::size_t>(i);
        tables_[at] = color_table(static_cast<ColorMap>(i), theme);
        table_textures_[at] = make_color_texture(tables_[at]);
    }
}

void HeatmapRenderer::forget_old_tiles() {
    const auto too_much = [this] { return cached_bytes_ > cache_bytes_ || tiles_.size() > kMaxTiles; };
    while (!tiles_.empty() && too_much() && tiles_.back().last_frame + 1 < frame_) {
        cached_bytes_ -= tiles_.back().bytes();
        index_.erase(tiles_.back().key);
        tiles_.pop_back();
    }
}

std::size_t HeatmapRenderer::CacheHash::operator()(const CacheKey& key) const {
    std::uint64_t hash = 0;
    const auto mix = [&hash](std::uint64_t x) {
        hash = (hash ^ x) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 32;
    };
    mix(key.data);
    mix(static_cast<std::uint64_t>(key.place.x) << 32 ^ static_cast<std::uint64_t>(key.place.y));
    mix(static_cast<std::uint64_t>(key.place.level_x) * 64 + static_cast<std::uint64_t>(key.place.level_y));
    mix(static_cast<std::uint64_t>(key.per_row_map) * 2 + (key.per_row_log ? 1 : 0));
    return static_cast<std::size_t>(hash);
}

const HeatmapRenderer::CachedTile* HeatmapRenderer::tile(const HeatmapRequest& request, const TilePlace& place, std::uint64_t key) {
    CacheKey wanted{key, request.data.rows, request.data.cols, place, ColorMap::Auto, false};
    if (request.style.per_row) {
        // The numbers only depend on whether the map is diverging, so all sequential maps share one cache entry.
        wanted.per_row_map = request.style.map == ColorMap::Diverging ? ColorMap::Diverging : ColorMap::Sequential;
        wanted.per_row_log = request.style.log;
    }
    if (const auto found = index_.find(wanted); found != index_.end()) {
        tiles_.splice(tiles_.begin(), tiles_, found->second);
    } else {
        const auto begun = std::chrono::steady_clock::now();
        if (for_uploads_ && uploading_ > std::chrono::steady_clock::duration::zero() && uploading_ >= *for_uploads_) return nullptr;
        const CellTile built = build_tile(request.data, request.style, place);
        tiles_.push_front({wanted, make_code_texture(built.codes, built.width, built.height), built.first_x, built.first_y, built.width,
                           built.height, 0});
        index_.emplace(wanted, tiles_.begin());
        cached_bytes_ += tiles_.front().bytes();
        ++uploads_;
        uploading_ += std::chrono::steady_clock::now() - begun;
    }
    tiles_.front().last_frame = frame_;
    return &tiles_.front();
}

PreparedHeatmap HeatmapRenderer::prepare(const HeatmapRequest& request, const PixelRect& rect, const PixelRect& visible) {
    check(request);
    PreparedHeatmap heatmap;
    const bool everything = request.first_col == 0 && request.last_col == 0 && request.first_row == 0 && request.last_row == 0;
    const auto all_cols = static_cast<float>(request.data.cols), all_rows = static_cast<float>(request.data.rows);
    const AxisView x = axis_view(rect.x0, rect.x1, visible.x0, visible.x1, everything ? 0 : request.first_col,
                                 everything ? all_cols : request.last_col, request.data.cols);
    const AxisView y = axis_view(rect.y0, rect.y1, visible.y0, visible.y1, everything ? 0 : request.first_row,
                                 everything ? all_rows : request.last_row, request.data.rows);
    if (x.begin >= x.end || y.begin >= y.end) return heatmap;  // empty or not visible

    const AxisLevel level_x = axis_level(x.cells_per_pixel, request.data.level),
                    level_y = axis_level(y.cells_per_pixel, request.data.level);
    heatmap.origin_x = rect.x0;
    heatmap.origin_y = rect.y0;
    heatmap.step_x = static_cast<float>(std::ldexp(x.cells_per_pixel, -level_x.level));
    heatmap.step_y = static_cast<float>(std::ldexp(y.cells_per_pixel, -level_y.level));
    heatmap.apart_x = level_x.samples == 2 ? 0.25F * heatmap.step_x : 0.0F;
    heatmap.apart_y = level_y.samples == 2 ? 0.25F * heatmap.step_y : 0.0F;
    heatmap.scale = value_scale(tile_style(request.style));
    heatmap.map = request.style.map;
    heatmap.opacity = request.opacity;
    const double ui_scale = theme_ ? theme_->scale : 1;
    if (request.grid && std::max(x.cells_per_pixel, y.cells_per_pixel) * kSmallestGridCell * ui_scale <= 1)
        heatmap.grid = static_cast<float>(std::max(1.0, std::floor(ui_scale)));

    const std::uint64_t key = request.data.key != 0 ? request.data.key : kAnonymousKeys + ++anonymous_;
    const std::int64_t tile_cols = kTileTexels << level_x.level, tile_rows = kTileTexels << level_y.level;
    for (std::int64_t ty = y.begin / tile_rows; ty * tile_rows < y.end; ++ty)
        for (std::int64_t tx = x.begin / tile_cols; tx * tile_cols < x.end; ++tx) {
            const CachedTile* found = tile(request, {level_x.level, level_y.level, tx, ty}, key);
            if (found == nullptr) {
                // Draw nothing until all tiles are uploaded: half a map could be mistaken for a complete one.
                left_out_ = true;
                heatmap.tiles.clear();
                return heatmap;
            }
            const CachedTile& cached = *found;
            PreparedHeatmap::Tile& out = heatmap.tiles.emplace_back();
            out.texture = cached.texture.get();
            out.width = cached.width;
            out.height = cached.height;
            out.first_x = static_cast<float>(std::ldexp(x.first, -level_x.level) - static_cast<double>(cached.first_x));
            out.first_y = static_cast<float>(std::ldexp(y.first, -level_y.level) - static_cast<double>(cached.first_y));
            out.rect = {
                std::max(rect.x0, static_cast<float>(x.pixel(static_cast<double>(tx * tile_cols)))),
                std::max(rect.y0, static_cast<float>(y.pixel(static_cast<double>(ty * tile_rows)))),
                std::min(rect.x1, static_cast<float>(x.pixel(static_cast<double>(std::min((tx + 1) * tile_cols, request.data.cols))))),
                std::min(rect.y1, static_cast<float>(y.pixel(static_cast<double>(std::min((ty + 1) * tile_rows, request.data.rows)))))};
        }
    return heatmap;
}

void HeatmapRenderer::draw(const PreparedHeatmap& heatmap, int target_width, int target_height) {
    if (heatmap.tiles.empty() || !theme_) return;
    const bool many = heatmap.apart_x > 0 || heatmap.apart_y > 0, grid = heatmap.grid > 0;
    const unsigned variant = (many ? kMany : 0U) | (heatmap.scale.logarithmic ? kLogarithmic : 0U) | (grid ? kGrid : 0U);
    if (programs_[variant] == nullptr) programs_[variant] = load_program(variant);
    const ShaderProgram& program = *programs_[variant];
    const auto set_color = [&program](const char* uniform, std::uint32_t color) {
        program.set(uniform, static_cast<float>(color & 0xFFU) / 255, static_cast<float>((color >> 8) & 0xFFU) / 255,
                    static_cast<float>((color >> 16) & 0xFFU) / 255, 1.0F);
    };
    if (heatmap.opacity < 1) {
        glEnable(GL_BLEND);
        glBlendEquation(GL_FUNC_ADD);
        glBlendColor(0, 0, 0, std::max(heatmap.opacity, 0.0F));
        glBlendFunc(GL_CONSTANT_ALPHA, GL_ONE_MINUS_CONSTANT_ALPHA);
    } else {
        glDisable(GL_BLEND);
    }
    glBindVertexArray(vertex_array_.get());
    program.use();
    program.set("u_target", static_cast<float>(target_width), static_cast<float>(target_height));
    program.set("u_cells", 0);
    program.set("u_colors", 1);
    program.set("u_origin", heatmap.origin_x, heatmap.origin_y);
    program.set("u_step", heatmap.step_x, heatmap.step_y);
    program.set("u_scale", heatmap.scale.origin, heatmap.scale.bend, heatmap.scale.factor, heatmap.scale.base);
    if (many) program.set("u_apart", heatmap.apart_x, heatmap.apart_y);
    if (grid) program.set("u_grid", heatmap.grid);
    program.set("u_pixel", theme_->scale);
    set_color("u_pane", theme_->pane);
    set_color("u_line", theme_->line);
    glActiveTexture(GL_TEXTURE1);
    glBindSampler(1, 0);
    glBindTexture(GL_TEXTURE_2D, table_textures_[static_cast<std::size_t>(heatmap.map)].get());
    glActiveTexture(GL_TEXTURE0);
    glBindSampler(0, 0);
    for (const PreparedHeatmap::Tile& tile : heatmap.tiles) {
        program.set("u_rect", tile.rect.x0, tile.rect.y0, tile.rect.x1, tile.rect.y1);
        program.set("u_first", tile.first_x, tile.first_y);
        program.set("u_size", tile.width, tile.height);
        glBindTexture(GL_TEXTURE_2D, tile.texture);
        glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
}

std::uint32_t HeatmapRenderer::color(const HeatmapStyle& style, float value) const {
    if (!std::isfinite(value)) return kNanColor;
    return tables_[static_cast<std::size_t>(style.map)][static_cast<std::size_t>(color_index(place_of(value_scale(style), value)))];
}

}  // namespace attn::app
