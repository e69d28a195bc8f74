#include "app/platform/svg_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace attn::app {

namespace {

/// Formats a number with at most two decimals.
std::string number(float value) {
    std::string text = fmt::format("{:.2f}", value);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

std::string hex(std::uint32_t color) { return fmt::format("#{:02x}{:02x}{:02x}", color & 0xFFU, color >> 8 & 0xFFU, color >> 16 & 0xFFU); }

/// A colour attribute, such as fill="#rrggbb", with an opacity attribute unless opaque.
std::string paint(const char* what, std::uint32_t color) {
    std::string text = fmt::format(" {}=\"{}\"", what, hex(color));
    const std::uint32_t alpha = color >> 24;
    if (alpha < 255) text += fmt::format(" {}-opacity=\"{}\"", what, number(static_cast<float>(alpha) / 255));
    return text;
}

std::string box_attributes(const SvgBox& box) {
    return fmt::format(" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(box.x0), number(box.y0), number(box.x1 - box.x0),
                       number(box.y1 - box.y0));
}

SvgBox bounds(const std::vector<SvgPoint>& points, float margin = 0) {
    SvgBox box{1e9F, 1e9F, -1e9F, -1e9F};
    for (const SvgPoint& p : points) {
        box.x0 = std::min(box.x0, p.x - margin);
        box.y0 = std::min(box.y0, p.y - margin);
        box.x1 = std::max(box.x1, p.x + margin);
        box.y1 = std::max(box.y1, p.y + margin);
    }
    return box;
}

std::string list_of(const std::vector<SvgPoint>& points) {
    std::string text;
    for (const SvgPoint& p : points) text += (text.empty() ? "" : " ") + number(p.x) + "," + number(p.y);
    return text;
}

/// The corner radius if the points form a rounded rectangle or a circle; otherwise none.
std::optional<float> corner_radius(const std::vector<SvgPoint>& points) {
    if (points.size() < 8) return {};
    const SvgBox box = bounds(points);
    float straight = 1e9F;
    for (const SvgPoint& p : points)
        if (p.y < box.y0 + 0.05F) straight = std::min(straight, p.x);
    const float r = straight - box.x0;
    if (r < 0.5F || r > (box.x1 - box.x0) / 2 + 0.6F || r > (box.y1 - box.y0) / 2 + 0.6F) return {};
    for (const SvgPoint& p : points) {
        const float dx = std::max({box.x0 + r - p.x, p.x - (box.x1 - r), 0.F}), dy = std::max({box.y0 + r - p.y, p.y - (box.y1 - r), 0.F});
        const bool on_side = dx == 0 || dy == 0;
        const float off = on_side
                              ? std::min({std::abs(p.x - box.x0), std::abs(p.x - box.x1), std::abs(p.y - box.y0), std::abs(p.y - box.y1)})
                              : std::abs(std::hypot(dx, dy) - r);
        if (off > 0.35F) return {};
    }
    return r;
}

bool axis_aligned(const std::vector<SvgPoint>& p) {
    if (p.size() != 4) return false;
    const auto same = [](float a, float b) { return std::abs(a - b) < 0.02F; };
    return (same(p[0].y, p[1].y) && same(p[1].x, p[2].x) && same(p[2].y, p[3].y) && same(p[3].x, p[0].x)) ||
           (same(p[0].x, p[1].x) && same(p[1].y, p[2].y) && same(p[2].x, p[3].x) && same(p[3].y, p[0].y));
}

}  // namespace

std::string xml_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            if (static_cast<unsigned char>(c) >= 0x20) out += c;
        }
    }
    return out;
}

bool SvgElements::clipping(const SvgBox& box, std::string& attribute) {
    if (box.x1 <= clip_.x0 || box.x0 >= clip_.x1 || box.y1 <= clip_.y0 || box.y0 >= clip_.y1) return false;
    if (box.x0 >= clip_.x0 && box.x1 <= clip_.x1 && box.y0 >= clip_.y0 && box.y1 <= clip_.y1) return true;
    const auto known = clips_.try_emplace(box_attributes(clip_), static_cast<int>(clips_.size())).first;
    attribute = fmt::format(" clip-path=\"url(#clip{})\"", known->second);
    return true;
}

void SvgElements::add(const std::string& name, const SvgBox& box, const std::string& attributes) {
    std::string clip;
    if (clipping(box, clip)) body_ += "<" + name + attributes + clip + "/>\n";
}

void SvgElements::see(const SvgBox& box, std::uint32_t color) {
    if (color == ground_) return;
    const SvgBox part{std::max(box.x0, clip_.x0), std::max(box.y0, clip_.y0), std::min(box.x1, clip_.x1), std::min(box.y1, clip_.y1)};
    if (part.x0 >= part.x1 || part.y0 >= part.y1) return;
    if (!seen_) seen_ = part;
    *seen_ = {std::min(seen_->x0, part.x0), std::min(seen_->y0, part.y0), std::max(seen_->x1, part.x1), std::max(seen_->y1, part.y1)};
}

SvgBox SvgElements::seen_within(const SvgBox& whole, float margin) const {
    if (!seen_) return whole;
    return {std::max(whole.x0, seen_->x0 - margin), std::max(whole.y0, seen_->y0 - margin), std::min(whole.x1, seen_->x1 + margin),
            std::min(whole.y1, seen_->y1 + margin)};
}

void SvgElements::rectangle(const SvgBox& box, std::uint32_t color) {
    see(box, color);
    const SvgBox seen{std::max(box.x0, clip_.x0), std::max(box.y0, clip_.y0), std::min(box.x1, clip_.x1), std::min(box.y1, clip_.y1)};
    if (seen.x0 < seen.x1 && seen.y0 < seen.y1) add("rect", seen, box_attributes(seen) + paint("fill", color));
}

void SvgElements::polygon(const std::vector<SvgPoint>& points, std::uint32_t color) {
    if (points.size() < 3 || (color >> 24) == 0) return;
    const SvgBox box = bounds(points);
    if (axis_aligned(points)) return rectangle(box, color);
    see(box, color);
    if (const auto r = corner_radius(points))
        return add("rect", box, box_attributes(box) + fmt::format(" rx=\"{}\"", number(*r)) + paint("fill", color));
    add("polygon", box, " points=\"" + list_of(points) + "\"" + paint("fill", color));
}

void SvgElements::stroke(std::vector<SvgPoint> points, float width, std::uint32_t color) {
    if (points.size() < 2 || (color >> 24) == 0) return;
    const SvgBox box = bounds(points);
    const SvgBox reach = bounds(points, width / 2);
    see(reach, color);
    const bool closed =
        points.size() > 3 && std::abs(points.front().x - points.back().x) < 0.05F && std::abs(points.front().y - points.back().y) < 0.05F;
    const std::string line = paint("stroke", color) + fmt::format(" stroke-width=\"{}\" fill=\"none\"", number(width));
    if (closed) points.pop_back();
    if (closed && axis_aligned(points)) return add("rect", reach, box_attributes(box) + line);
    if (const auto r = closed ? corner_radius(points) : std::nullopt)
        return add("rect", reach, box_attributes(box) + fmt::format(" rx=\"{}\"", number(*r)) + line);
    add(closed ? "polygon" : "polyline", reach, " points=\"" + list_of(points) + "\"" + line + " stroke-linejoin=\"round\"");
}

void SvgElements::gradient(const SvgBox& box, std::uint32_t from, std::uint32_t to, bool vertical) {
    if (from != to) see(box, (from >> 24) > (to >> 24) ? from : to);
    gradients_ += fmt::format("<linearGradient id=\"shade{}\" x1=\"0\" y1=\"0\" x2=\"{}\" y2=\"{}\"><stop offset=\"0\"{}/>"
                              "<stop offset=\"1\"{}/></linearGradient>\n",
                              gradient_count_, vertical ? 0 : 1, vertical ? 1 : 0, paint("stop-color", from), paint("stop-color", to));
    add("rect", box, box_attributes(box) + fmt::format(" fill=\"url(#shade{})\" shape-rendering=\"crispEdges\"", gradient_count_++));
}

void SvgElements::text(const SvgText& text) {
    std::string clip;
    if (!clipping(text.box, clip)) return;
    see(text.box, text.color);
    const bool mono = std::string_view(text.family).find("Mono") != std::string_view::npos;
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-family=\"{}\" font-size=\"{}\"", number(text.at.x), number(text.at.y),
                         mono ? "JetBrains Mono, DejaVu Sans Mono, monospace" : "Inter, Helvetica, Arial, DejaVu Sans, sans-serif",
                         number(text.size));
    if (text.semibold) body_ += " font-weight=\"600\"";
    body_ += paint("fill", text.color);
    // If a viewer substitutes another font, the text must not overlap its neighbours.
    body_ += fmt::format(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", number(text.length));
    if (text.angle != 0) body_ += fmt::format(" transform=\"rotate({} {} {})\"", number(text.angle), number(text.at.x), number(text.at.y));
    body_ += clip + ">" + xml_text(text.text) + "</text>\n";
}

void SvgElements::heatmap(const SvgHeatmap& heatmap) {
    if (heatmap.cells.empty()) return;
    // Antialiasing would leave visible seams between cells.
    body_ += "<g shape-rendering=\"crispEdges\">\n";
    for (const SvgCell& cell : heatmap.cells) {
        const SvgBox box{std::max(cell.x0, clip_.x0), std::max(cell.y0, clip_.y0), std::min(cell.x1, clip_.x1),
                         std::min(cell.y1, clip_.y1)};
        if (box.x0 >= box.x1 || box.y0 >= box.y1) continue;
        see(box, ~ground_);
        static constexpr const char* kFills[] = {"", "url(#masked)", "#ff00ff", "url(#infinite)", "url(#minus-infinite)"};
        body_ += "<rect" + box_attributes(box) + " fill=\"" +
                 (cell.kind == SvgCell::Kind::Number ? hex(cell.color) : kFills[static_cast<int>(cell.kind)]) + "\"/>\n";
    }
    body_ += "</g>\n";
}

std::string SvgElements::document(const SvgBox& part, const Theme& theme, std::string_view title) const {
    const float width = part.x1 - part.x0, height = part.y1 - part.y0;
    const Palette& c = theme.colors;
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    out += fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"{3} {4} {0} {1}\" "
                       "xml:space=\"preserve\">\n<title>{2}</title>\n<defs>\n",
                       number(width), number(height), xml_text(title), number(part.x0), number(part.y0));
    const auto stripes = [&](const char* id, float period, const char* transform, const std::string& ground, const std::string& line,
                             float thickness) {
        out += fmt::format("<pattern id=\"{0}\" width=\"{1}\" height=\"{1}\" patternUnits=\"userSpaceOnUse\"{2}>"
                           "<rect width=\"{1}\" height=\"{1}\" fill=\"{3}\"/><rect width=\"{4}\" height=\"{1}\" fill=\"{5}\"/></pattern>\n",
                           id, number(period), transform, ground, number(thickness), line);
    };
    stripes("masked", theme.px(4.243F), " patternTransform=\"rotate(45)\"", hex(c.pane), hex(c.line), theme.px(1));
    stripes("infinite", theme.px(4), "", "#ff00ff", "#ffffff", theme.px(2));
    stripes("minus-infinite", theme.px(4), " patternTransform=\"rotate(90)\"", "#ff00ff", "#000000", theme.px(2));
    out += gradients_;
    for (const auto& [box, index] : clips_) out += fmt::format("<clipPath id=\"clip{}\"><rect{}/></clipPath>\n", index, box);
    out += "</defs>\n";
    out += fmt::format("<rect{} fill=\"{}\"/>\n", box_attributes(part), hex(c.window));
    return out + body_ + "</svg>\n";
}

}  // namespace attn::app
