#pragma once
/// Generates the elements of an SVG file, clipped to the visible area.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/platform/svg_canvas.hpp"
#include "app/widgets/theme.hpp"

namespace attn::app {

struct SvgPoint {
    float x = 0, y = 0;
};

struct SvgBox {
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// A run of text on one baseline.
struct SvgText {
    std::string text;  ///< UTF-8
    SvgPoint at;       ///< start of the baseline
    float angle = 0;   ///< in degrees
    float length = 0;  ///< width on screen in pixels
    float size = 0;    ///< em size in pixels
    const char* family = "";
    bool semibold = false;
    std::uint32_t color = 0;
    SvgBox box;  ///< approximate bounding box
};

/// Collects elements in drawing order. Colours are 0xAABBGGRR.
class SvgElements {
public:
    /// What has the colour of the ground is not seen on it.
    explicit SvgElements(std::uint32_t ground) : ground_(ground) {}

    /// Sets the clip rectangle of subsequent elements.
    void clip(const SvgBox& box) { clip_ = box; }

    void rectangle(const SvgBox& box, std::uint32_t color);
    /// A filled outline; circles and rounded rectangles are recognised.
    void polygon(const std::vector<SvgPoint>& points, std::uint32_t color);
    /// A polyline; closed if it ends where it began.
    void stroke(std::vector<SvgPoint> points, float width, std::uint32_t color);
    /// A rectangle with a linear gradient, horizontal or vertical.
    void gradient(const SvgBox& box, std::uint32_t from, std::uint32_t to, bool vertical);
    void text(const SvgText& text);
    void heatmap(const SvgHeatmap& heatmap);

    /// The part of `whole` in which something is seen, with this margin; `whole` if there is nothing.
    SvgBox seen_within(const SvgBox& whole, float margin) const;
    /// The complete SVG file of this part of the picture.
    std::string document(const SvgBox& part, const Theme& theme, std::string_view title) const;

private:
    /// Returns the clip-path attribute of an element in `attribute` ("" if none is needed), or false if it is invisible.
    bool clipping(const SvgBox& box, std::string& attribute);
    void add(const std::string& name, const SvgBox& box, const std::string& attributes);
    /// Counts what is visible of the box as seen.
    void see(const SvgBox& box, std::uint32_t color);

    std::uint32_t ground_;
    std::optional<SvgBox> seen_;
    SvgBox clip_{-1e9F, -1e9F, 1e9F, 1e9F};
    std::map<std::string, int> clips_;  ///< attributes of a clip rectangle -> number of its clipPath
    std::string gradients_;
    int gradient_count_ = 0;
    std::string body_;
};

/// Escapes text for an element or attribute.
std::string xml_text(std::string_view text);

}  // namespace attn::app
