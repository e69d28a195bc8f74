#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/gl/gl_fixture.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;

constexpr const char* kVertex = "#version 330 core\nvoid main() { gl_Position = vec4(0.0); }\n";
constexpr const char* kFragment = "#version 330 core\nuniform float u_used;\nout vec4 color;\nvoid main() { color = vec4(u_used); }\n";

std::string failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const GlError& error) {
        return error.what();
    }
    return "";
}

class ShaderTest : public GlTest {};

TEST_F(ShaderTest, AnErrorNamesTheShaderAndNumbersItsLines) {
    breaks_shaders_ = true;
    const std::string broken = "#version 330 core\nout vec4 color;\nvoid main() { color = vec4(nothing); }\n";
    for (const char* definitions : {"", "#define A\n#define B\n"}) {
        const std::string message = failure_of([&] { ShaderProgram("a.vert", kVertex, "b.frag", broken, definitions); });
        EXPECT_THAT(message, HasSubstr("shader b.frag does not compile"));
        EXPECT_THAT(message, HasSubstr("   3  void main() { color = vec4(nothing); }"));
        EXPECT_THAT(message, HasSubstr("0:3(")) << "the driver's line is the file's line";
    }
}

TEST_F(ShaderTest, ShadersThatDoNotFitTogetherAreRefused) {
    const std::string fragment = "#version 330 core\nfloat promised();\nout vec4 color;\nvoid main() { color = vec4(promised()); }\n";
    EXPECT_THAT(failure_of([&] { ShaderProgram("a.vert", kVertex, "b.frag", fragment); }), HasSubstr("a.vert and b.frag do not link"));
}

TEST_F(ShaderTest, AnUnknownUniformIsAnError) {
    const ShaderProgram program("a.vert", kVertex, "b.frag", kFragment);
    program.use();
    EXPECT_NO_THROW(program.set("u_used", 1.0F));
    EXPECT_THAT(failure_of([&] { program.set("u_unused", 1.0F); }), HasSubstr("shader b.frag has no uniform u_unused"));
}

TEST_F(ShaderTest, MissingShadersAreNamed) {
    EXPECT_THAT(failure_of([] { (void)ShaderSource{}.read("none.frag"); }), HasSubstr("none.frag"));
    EXPECT_THAT(failure_of([] { (void)ShaderSource{"/nonexistent"}.read("none.frag"); }), HasSubstr("/nonexistent/none.frag"));
}

TEST_F(ShaderTest, ChangedFilesAreTakenAndBrokenOnesReported) {
    breaks_shaders_ = true;
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attnscope_shaders";
    std::filesystem::create_directories(folder);
    const auto write = [&folder](const char* name, const std::string& text) {
        const auto before = std::filesystem::exists(folder / name) ? std::filesystem::last_write_time(folder / name)
                                                                   : std::filesystem::file_time_type::min();
        std::ofstream(folder / name) << text;
        // File times may be coarse; make sure the change is visible.
        if (before == std::filesystem::last_write_time(folder / name))
            std::filesystem::last_write_time(folder / name, before + std::chrono::seconds(1));
    };
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
    const std::string good = ShaderSource{}.read("heatmap.frag");
    write("heatmap.vert", ShaderSource{}.read("heatmap.vert"));
    write("heatmap.frag", good);
    renderer_ = std::make_unique<HeatmapRenderer>(ShaderSource{folder});
    const Matrix matrix(2, 2, 0.5F);
    const Rgb expected = pixel(draw(matrix.request({}), 8, 8), 4, 4);

    wait();
    write("heatmap.frag", good + "this is not a shader");
    EXPECT_EQ(pixel(draw(matrix.request({}), 8, 8), 4, 4), expected) << "the last good shader stays";
    EXPECT_THAT(renderer_->shader_problem(), HasSubstr("heatmap.frag does not compile"));

    wait();
    std::string inverted = good;
    const std::string end = "if (code == 0u) color = hatching(pixel);";
    inverted.replace(inverted.find(end), end.size(), end + " color.rgb = 1.0 - color.rgb;");
    write("heatmap.frag", inverted);
    const Rgb now = pixel(draw(matrix.request({}), 8, 8), 4, 4);
    EXPECT_EQ(renderer_->shader_problem(), "");
    EXPECT_LE(distance(now, {255 - expected.r, 255 - expected.g, 255 - expected.b}), 1) << now << " from " << expected;
    std::filesystem::remove_all(folder);
}

TEST_F(ShaderTest, PixelsAreReadTopRowFirst) {
    const Framebuffer target(5, 3);  // row sizes that are not multiples of four bytes
    target.bind();
    glClearColor(1, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glEnable(GL_SCISSOR_TEST);
    glScissor(0, 2, 2, 1);  // OpenGL counts from the bottom: the left part of the top row
    glClearColor(0, 0, 1, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glDisable(GL_SCISSOR_TEST);
    const Image image{5, 3, read_pixels(5, 3)};
    for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 5; ++x) EXPECT_EQ(pixel(image, x, y), (y == 0 && x < 2 ? Rgb{0, 0, 255} : Rgb{255, 0, 0})) << x << ' ' << y;
}

TEST_F(ShaderTest, ATextureBeyondTheDriversLimitIsRefused) {
    EXPECT_THAT(failure_of([] { Framebuffer(1 << 20, 1); }), HasSubstr("1048576 x 1"));
    EXPECT_THAT(failure_of([] { Framebuffer(0, 4); }), HasSubstr("0 x 4"));
}

}  // namespace
}  // namespace attn::app
