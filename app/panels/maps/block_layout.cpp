#include "app/panels/maps/block_layout.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kWidestGap = 56, kMostMoreForOpen = 220, kMostMoreForOthers = 120;
constexpr float kInside = 10, kItemGap = 8, kHeadChip = 24, kLeastHeadChip = 13, kHeadGap = 3, kSum = 18;

float whole_pixels(float logical, float scale) { return std::floor(logical * scale); }

/// The width of a row of head chips.
float chips_width(std::int64_t heads, float chip, float scale) {
    return static_cast<float>(heads) * (chip + whole_pixels(kHeadGap, scale)) - whole_pixels(kHeadGap, scale);
}

bool is_attention(const BlockPart& part) { return part.kind != PartKind::FeedForward; }

/// The width of everything except the heads.
float rest_width(const ModelBlock& block, const OpenBlockRoom& room, float scale) {
    const float gap = whole_pixels(kItemGap, scale);
    float width = 2 * whole_pixels(kInside, scale) + room.title;
    for (std::size_t i = 0; i < block.parts.size(); ++i) {
        width += gap;
        if (!is_attention(block.parts[i])) width += room.labels[i];
        if (block.parts[i].sum) width += gap + whole_pixels(kSum, scale);
    }
    return width;
}

/// The width of a head's chip, the same for all attentions; 0 if there is no room.
float head_chip(const ModelBlock& block, const OpenBlockRoom& room, float width, float scale) {
    const auto rows = std::count_if(block.parts.begin(), block.parts.end(), is_attention);
    if (rows == 0 || room.heads < 1) return 0;
    const float each = (width - rest_width(block, room, scale)) / static_cast<float>(rows);
    const float gap = whole_pixels(kHeadGap, scale);
    const float chip = std::floor((each + gap) / static_cast<float>(room.heads)) - gap;
    return chip < whole_pixels(kLeastHeadChip, scale) ? 0 : std::min(chip, whole_pixels(kHeadChip, scale));
}

}  // namespace

std::vector<Stretch> lay_out_blocks(std::span<const BlockRoom> blocks, std::size_t open, float room, float scale) {
    float natural = 0, smallest = 0, gaps = 0, open_shrinks = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const bool gap = i > 0;
        natural += blocks[i].natural + (gap ? blocks[i].gap : 0);
        smallest += blocks[i].smallest + (gap ? blocks[i].smallest_gap : 0);
        gaps += gap ? 1.F : 0.F;
        if (i == open) open_shrinks = blocks[i].natural - blocks[i].smallest;
    }
    // Fractions from 1 (natural size) to 0 (smallest size). The other blocks shrink first, then the open one.
    const float others_range = natural - smallest - open_shrinks;
    const float short_of = std::max(natural - room, 0.F);
    const float others = others_range > 0 ? std::clamp(1 - short_of / others_range, 0.F, 1.F) : short_of > 0 ? 0.F : 1.F;
    const float still_short = std::max(short_of - std::max(others_range, 0.F), 0.F);
    const float opened = open_shrinks > 0 ? std::clamp(1 - still_short / open_shrinks, 0.F, 1.F) : 1.F;
    float spare = std::max(room - natural, 0.F), wider_gap = 0;
    if (gaps > 0 && !blocks.empty()) {
        wider_gap = std::min(spare / (gaps + 2), std::max(whole_pixels(kWidestGap, scale) - blocks.back().gap, 0.F));
        spare -= wider_gap * gaps;
    }
    const float wider_open = std::min(spare, whole_pixels(kMostMoreForOpen, scale));
    spare -= wider_open;
    const float wider_others = gaps > 0 ? std::min(spare / gaps, whole_pixels(kMostMoreForOthers, scale)) : 0;
    std::vector<Stretch> row;
    float x = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const BlockRoom& block = blocks[i];
        const float share = i == open ? opened : others;
        if (i > 0) x += std::floor(block.smallest_gap + others * (block.gap - block.smallest_gap) + wider_gap);
        const float width = std::floor(block.smallest + share * (block.natural - block.smallest) + (i == open ? wider_open : wider_others));
        row.push_back({x, x + width});
        x += width;
    }
    // Centre the row if space is left.
    if (const float free = room - x; free > 1)
        for (Stretch& place : row) place = {place.min + std::floor(free / 2), place.max + std::floor(free / 2)};
    return row;
}

float open_block_width(const ModelBlock& block, const OpenBlockRoom& room, float scale) {
    const auto rows = static_cast<float>(std::count_if(block.parts.begin(), block.parts.end(), is_attention));
    return rest_width(block, room, scale) + (room.heads > 0 ? rows * chips_width(room.heads, whole_pixels(kHeadChip, scale), scale) : 0);
}

float least_open_block_width(const ModelBlock& block, const OpenBlockRoom& room, float scale) {
    const auto rows = static_cast<float>(std::count_if(block.parts.begin(), block.parts.end(), is_attention));
    const float chips = chips_width(room.heads, whole_pixels(kLeastHeadChip, scale), scale);
    return rest_width(block, room, scale) + rows * std::min(chips, room.chosen);
}

std::vector<BlockItem> lay_out_open_block(const ModelBlock& block, const OpenBlockRoom& room, float width, float scale) {
    const float inside = whole_pixels(kInside, scale), gap = whole_pixels(kItemGap, scale), end = width - inside;
    std::vector<BlockItem> items;
    float x = inside;
    const auto place = [&](BlockItem::Kind kind, std::size_t part, float wide, std::int64_t head = 0) {
        if (x + wide > end + 0.5F) return false;
        items.push_back({kind, part, head, {x, x + wide}});
        x += wide;
        return true;
    };
    if (!place(BlockItem::Kind::Title, 0, std::min(room.title, std::max(end - inside, 0.F)))) return items;
    const auto sum = [&](std::size_t part) {
        if (!block.parts[part].sum) return true;
        x += gap;
        return place(BlockItem::Kind::Sum, part, whole_pixels(kSum, scale));
    };
    const float chip = head_chip(block, room, width, scale);
    for (std::size_t i = 0; i < block.parts.size(); ++i) {
        x += gap;
        if (!is_attention(block.parts[i])) {
            if (!place(BlockItem::Kind::Part, i, room.labels[i])) return items;
        } else if (chip > 0) {
            for (std::int64_t head = 0; head < room.heads; ++head) {
                if (head > 0) x += whole_pixels(kHeadGap, scale);
                if (!place(BlockItem::Kind::Head, i, chip, head)) return items;
            }
        } else if (!place(BlockItem::Kind::HeadsLabel, i, room.chosen)) {
            return items;
        }
        if (!block.parallel && !sum(i)) return items;
    }
    for (std::size_t i = 0; block.parallel && i < block.parts.size(); ++i)
        if (!sum(i)) break;
    return items;
}

}  // namespace attn::app
