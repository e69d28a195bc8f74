#pragma once
/// The interface between panels and the GPU: panels request heatmaps, the canvas draws them. Tests use a canvas that records the requests.

#include <cstdint>

#include "app/session/numbers/heatmap_data.hpp"

struct ImDrawList;
struct ImVec2;

namespace attn::app {

enum class ColorMap : std::uint8_t { Auto, Sequential, Diverging, Viridis, Cividis, Grey };
inline constexpr int kColorMapCount = 6;

/// How numbers become colours. `lo` and `hi` are the ends of the colour bar; numbers beyond them get the colour of the nearer end. A
/// diverging map is symmetric about 0 and extends to the larger of |lo| and |hi|.
struct HeatmapStyle {
    ColorMap map = ColorMap::Sequential;  ///< must not be Auto
    float lo = 0, hi = 1;
    bool per_row = false;  ///< every row has its own range, see row_style(); lo and hi are not used
    bool log = false;      ///< logarithmic if lo > 0, otherwise log(1 + x); symmetric for a diverging map
    bool operator==(const HeatmapStyle&) const = default;
};

struct HeatmapRequest {
    HeatmapData data;
    HeatmapStyle style;
    /// The part to show, in cells; all zero: everything.
    float first_col = 0, last_col = 0, first_row = 0, last_row = 0;
    bool grid = false;  ///< thin lines between cells that are large enough
    float opacity = 1;  ///< below 1 it is blended with what is below
};

class Canvas {
public:
    virtual ~Canvas() = default;
    /// Draws into [min, max], in order with the list's other contents and within its clip rectangle. The numbers are read before the call
    /// returns.
    virtual void heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) = 0;
    /// Fills whole pixels with an opaque colour (0xAABBGGRR), also in order and clipped. With software rendering this is faster for large
    /// areas than filling through the draw list.
    virtual void fill(ImDrawList& list, const ImVec2& min, const ImVec2& max, std::uint32_t color);
    /// The colour of a value as in the shader (0xAABBGGRR), for colour bars, readable text colours and exports. For a per-row style, pass
    /// the row's own style: see row_style() in app/widgets/value_scale.hpp, where value_at() also gives the numbers along a colour bar.
    virtual std::uint32_t color(const HeatmapStyle& style, float value) const = 0;
};

}  // namespace attn::app
