#include "app/platform/offscreen.hpp"

#include <gmock/gmock.h>
#include <imgui.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "app/platform/platform_error.hpp"
#include "app/platform/trim.hpp"
#include "engine/io/file_error.hpp"
#include "tests/gl/demo_ui.hpp"
#include "tests/gl/gl_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Offscreen, TheSameDrawingGivesTheSameBytes) {
    const std::filesystem::path folder = testing::TempDir();
    const std::filesystem::path files[] = {folder / "attnscope_once.png", folder / "attnscope_again.png"};
    for (const auto& file : files) write_png(file, render_offscreen({}, draw_demo));
    EXPECT_GT(bytes_of(files[0]).size(), 1000U);
    EXPECT_EQ(bytes_of(files[0]), bytes_of(files[1]));
    // For visual inspection.
    if (const char* copy = std::getenv("ATTN_DEMO_PNG"))
        std::filesystem::copy_file(files[0], copy, std::filesystem::copy_options::overwrite_existing);
    for (const auto& file : files) std::filesystem::remove(file);
}

TEST(Trim, LeavesTheMarginAndNoMore) {
    Image image{40, 30, std::vector<std::uint8_t>(40 * 30 * 3, 7)};
    const auto set = [&](int x, int y) { image.pixels[static_cast<std::size_t>((y * 40 + x) * 3)] = 200; };
    set(12, 20);
    set(25, 11);
    const Image out = trimmed(image, 8);
    EXPECT_EQ(out.width, 8 + 14 + 8);
    EXPECT_EQ(out.height, 8 + 10 + 8);
    EXPECT_EQ(out.pixels.size(), static_cast<std::size_t>(out.width * out.height * 3));
    EXPECT_EQ(out.pixels[static_cast<std::size_t>(((20 - 3) * out.width + 8) * 3)], 200) << "the pixel that was furthest left";
    EXPECT_EQ(trimmed(out, 8).pixels, out.pixels);
    const Image empty{5, 4, std::vector<std::uint8_t>(60, 7)};
    EXPECT_EQ(trimmed(empty, 8).width, 5);
}

TEST(Offscreen, ThemeAndScaleAreThoseAskedFor) {
    for (const bool dark : {true, false})
        for (const float scale : {1.0F, 2.0F}) {
            const OffscreenOptions options{64, 48, scale, dark, 2, {}};
            const Image image = render_offscreen(options, [&](Frame& frame) {
                EXPECT_EQ(frame.theme.scale, scale);
                EXPECT_NEAR(frame.theme.fonts.body->FontSize, 14 * 1.21 * scale, 0.51);  // the line height, in whole pixels
                EXPECT_EQ(frame.width, 64);
                EXPECT_EQ(frame.height, 48);
            });
            EXPECT_EQ(pixel(image, 63, 47), rgb_of(palette(dark).window));
        }
}

TEST(Offscreen, HeatmapsKeepTheOrderAndTheClipOfTheList) {
    const float value = 1;
    std::uint32_t hot = 0;
    const auto ui = [&](Frame& frame) {
        ImDrawList& list = *ImGui::GetBackgroundDrawList();
        list.AddRectFilled({0, 0}, {100, 100}, 0xFF0000FF);
        list.PushClipRect({20, 30}, {80, 70}, true);
        frame.canvas.heatmap(list, {10, 10}, {90, 90}, {{0, &value, 1, 1, 1, nullptr}, {ColorMap::Viridis, 0, 1}});
        list.PopClipRect();
        list.AddRectFilled({40, 40}, {60, 60}, 0xFFFF0000);
        hot = frame.canvas.color({ColorMap::Viridis, 0, 1}, value);
    };
    const Image image = render_offscreen({100, 100, 1, true, 2, {}}, ui);
    for (int y = 0; y < 100; ++y)
        for (int x = 0; x < 100; ++x) {
            const bool inside = x >= 20 && x < 80 && y >= 30 && y < 70, over = x >= 40 && x < 60 && y >= 40 && y < 60;
            const Rgb expected = over ? Rgb{0, 0, 255} : inside ? rgb_of(hot) : Rgb{255, 0, 0};
            ASSERT_LE(distance(pixel(image, x, y), expected), 1) << x << ' ' << y << ' ' << pixel(image, x, y);
        }
}

TEST(Offscreen, FilledPixelsKeepTheOrderAndTheClipOfTheList) {
    const auto ui = [](Frame& frame) {
        ImDrawList& list = *ImGui::GetBackgroundDrawList();
        list.AddRectFilled({0, 0}, {100, 100}, 0xFF0000FF);
        list.PushClipRect({20, 30}, {80, 70}, true);
        frame.canvas.fill(list, {10, 10}, {90, 65}, 0xFF201008);
        frame.canvas.fill(list, {85, 10}, {90, 65}, 0xFFFFFFFF);  // completely clipped
        list.PopClipRect();
        list.AddRectFilled({40, 40}, {60, 60}, 0xFFFF0000);
    };
    const Image image = render_offscreen({100, 100, 1, true, 2, {}}, ui);
    for (int y = 0; y < 100; ++y)
        for (int x = 0; x < 100; ++x) {
            const bool inside = x >= 20 && x < 80 && y >= 30 && y < 65, over = x >= 40 && x < 60 && y >= 40 && y < 60;
            const Rgb expected = over ? Rgb{0, 0, 255} : inside ? Rgb{8, 16, 32} : Rgb{255, 0, 0};
            ASSERT_EQ(distance(pixel(image, x, y), expected), 0) << x << ' ' << y << ' ' << pixel(image, x, y);
        }
}

TEST(Offscreen, EveryFontHasTheLettersOfFormulas) {
    render_offscreen({16, 16, 1, true, 1, {}}, [](Frame& frame) {
        const Fonts& f = frame.theme.fonts;
        ImFont* const fonts[] = {f.small,   f.caption,   f.label,      f.body, f.strong,    f.title,
                                 f.heading, f.mono_tiny, f.mono_small, f.mono, f.mono_body, f.formula};
        for (ImFont* font : fonts) {
            ASSERT_NE(font, nullptr);
            for (const ImWchar letter : std::u16string(u"Aé÷×·−→∞√∑∇∈⊤⊙ℝᵀᵢⱼₖₜₒ₈²Ωλ“…"))
                EXPECT_NE(font->FindGlyphNoFallback(letter), nullptr) << std::hex << letter << " at " << font->FontSize;
        }
        for (ImFont* font : {f.label, f.body, f.mono_small, f.mono, f.mono_body})
            for (const ImWchar letter : std::u16string(u"Łőжя␠␣⏎↵⇥‖²°▸●\uFFFD"))
                EXPECT_NE(font->FindGlyphNoFallback(letter), nullptr) << std::hex << letter << " at " << font->FontSize;
    });
}

TEST(Offscreen, ImpossibleSizesAreRefused) {
    for (const auto& [width, height] : {std::pair{0, 10}, {10, -1}, {20000, 10}, {10, 2'000'000'000}, {16384, 16384}}) {
        OffscreenOptions options;
        options.width = width;
        options.height = height;
        EXPECT_THROW(render_offscreen(options, [](Frame&) {}), PlatformError) << width << ' ' << height;
    }
    OffscreenOptions options;
    options.scale = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(render_offscreen(options, [](Frame&) {}), PlatformError);
}

TEST(Png, BadPlacesAndImagesAreNamed) {
    const Image image{2, 1, {255, 0, 0, 0, 255, 0}};
    try {
        write_png("/nonexistent/folder/a.png", image);
        FAIL();
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("/nonexistent/folder/a.png"));
    }
    const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "attnscope_bad.png";
    EXPECT_THROW(write_png(file, {2, 2, image.pixels}), PlatformError);
    EXPECT_THROW(write_png(file, {0, 0, {}}), PlatformError);
    EXPECT_FALSE(std::filesystem::exists(file));
    write_png(file, image);
    EXPECT_EQ(bytes_of(file).substr(1, 3), "PNG");
    std::filesystem::remove(file);
}

TEST(Png, IsWrittenThroughNoLink) {
    const attn::test::TemporaryFolder folder;
    std::ofstream(folder / "victim") << "precious";
    std::filesystem::create_symlink("victim", folder / "fig.png.part");
    std::filesystem::create_symlink("victim", folder / "link.png");
    const Image image{2, 1, {255, 0, 0, 0, 255, 0}};
    write_png(folder / "fig.png", image);
    EXPECT_EQ(bytes_of(folder / "fig.png").substr(1, 3), "PNG");
    EXPECT_FALSE(std::filesystem::is_symlink(folder / "fig.png"));
    EXPECT_THROW(write_png(folder / "link.png", image), FileError);
    EXPECT_EQ(bytes_of(folder / "victim"), "precious");
    EXPECT_EQ(folder.entries(), 4);
}

}  // namespace
}  // namespace attn::app
