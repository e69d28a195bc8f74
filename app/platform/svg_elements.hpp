#pragma once
/// The elements of an SVG file as text, cut to where they may be seen.

#include <map>
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

/// A run of letters on one baseline.
struct SvgText {
    std::string text;  ///< UTF-8
    SvgPoint at;       ///< where its baseline begins
    float angle = 0;   ///< degrees
    float length = 0;  ///< pixels that it takes on screen
    float size = 0;    ///< em, pixels
    const char* family = "";
    bool semibold = false;
    std::uint32_t color = 0;
    SvgBox box;  ///< where its letters are, roughly
};

/// Collects elements in the order of drawing. Colours are 0xAABBGGRR.
class SvgElements {
public:
    /// What comes from now on is seen inside of this box only.
    void clip(const SvgBox& box) { clip_ = box; }

    void rectangle(const SvgBox& box, std::uint32_t color);
    /// A filled outline; a circle or a rectangle with round corners is recognised.
    void polygon(const std::vector<SvgPoint>& points, std::uint32_t color);
    /// Lines from point to point; closed when it ends where it began.
    void stroke(std::vector<SvgPoint> points, float width, std::uint32_t color);
    /// A rectangle between two colours, from left to right or from top to bottom.
    void gradient(const SvgBox& box, std::uint32_t from, std::uint32_t to, bool vertical);
    void text(const SvgText& text);
    void heatmap(const SvgHeatmap& heatmap);

    /// The whole file.
    std::string document(float width, float height, const Theme& theme, std::string_view title) const;

private:
    /// The attribute that cuts an element to the clip box: "" when it lies inside; false when nothing of it is seen.
    bool clipping(const SvgBox& box, std::string& attribute);
    void add(const std::string& name, const SvgBox& box, const std::string& attributes);

    SvgBox clip_{-1e9F, -1e9F, 1e9F, 1e9F};
    std::map<std::string, int> clips_;  ///< the box's attributes -> number of its clipPath
    std::string gradients_;
    int gradient_count_ = 0;
    std::string body_;
};

/// Text inside an element or an attribute.
std::string xml_text(std::string_view text);

}  // namespace attn::app
