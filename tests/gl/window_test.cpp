/// The event loop in a real window, on the available display.

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "app/platform/app_loop.hpp"
#include "app/platform/input_queue.hpp"
#include "app/platform/platform_error.hpp"
#include "app/platform/window_placement.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "tests/gl/demo_ui.hpp"

namespace attn::app {
namespace {

struct TemporaryFolder {
    std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "attnscope_window";
    TemporaryFolder() { std::filesystem::remove_all(path); }
    ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

TEST(Window, DrawsClosesAndRemembersItsPlace) {
    const TemporaryFolder folder;
    LoopOptions options;
    options.settings_file = folder.path / "settings.json";
    Settings settings;
    settings.window_width = 900;
    settings.window_height = 700;
    Waker waker;
    int frames = 0;
    float width = 0, scale = 0;
    run_window(options, settings, waker, [&](Frame& frame) {
        draw_demo(frame);
        width = frame.width;
        scale = frame.theme.scale;
        frame.settings.dark = false;  // takes effect in the next frame
        frame.settings.zoom = 1.5;
        if (++frames == 3) {
            EXPECT_FALSE(frame.theme.colors.dark);
            frame.quit = true;
        }
    });
    EXPECT_EQ(frames, 3);
    EXPECT_GT(width, 0);
    EXPECT_GE(scale, 1.5F);
    const LoadedSettings saved = load_settings(options.settings_file);
    EXPECT_EQ(saved.note, "");
    EXPECT_EQ(saved.settings, settings);
    EXPECT_TRUE(saved.settings.window_placed);
    EXPECT_FALSE(saved.settings.dark);
}

TEST(Window, SleepsUntilItIsWoken) {
    Settings settings;
    Waker waker;
    std::jthread worker;
    int frames = 0, frames_before_sleep = 0;
    bool woken = false;
    run_window({}, settings, waker, [&](Frame& frame) {
        ++frames;
        if (frames == 1)
            worker = std::jthread([&waker](const std::stop_token& stop) {
                // After the window's initial events there is one wake-up, and further ones only if the first is lost.
                for (int i = 0; i < 200 && !stop.stop_requested(); ++i) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(300));
                    waker.wake();
                }
            });
        woken = woken || frame.time > 0.25;
        if (!woken) frames_before_sleep = frames;
        if (woken) frame.quit = true;
    });
    EXPECT_TRUE(woken);
    // Without sleeping there would be a frame per vertical blank, or hundreds.
    EXPECT_LE(frames_before_sleep, 40);
}

TEST(Window, HoldsAFrameBackUntilItIsWoken) {
    Settings settings;
    Waker waker;
    std::jthread worker;
    int held = 0, held_drawn = 0, drawn_afterwards = 0;
    std::atomic<bool> woken = false;
    const auto count = [](const ImDrawList*, const ImDrawCmd* command) { ++*static_cast<int*>(command->UserCallbackData); };
    run_window({}, settings, waker, [&](Frame& frame) {
        ImDrawList& list = *ImGui::GetBackgroundDrawList();
        if (!woken && frame.time > 0.1) {
            // Far longer than any test runs.
            frame.hold = 3600;
            list.AddCallback(count, &held_drawn);
            if (held++ == 0)
                worker = std::jthread([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    woken = true;
                    waker.wake();
                });
        } else if (woken) {
            list.AddCallback(count, &drawn_afterwards);
            frame.quit = drawn_afterwards > 0;
        }
        frame.redraw_after = 0.02;
    });
    EXPECT_GT(held, 0);
    EXPECT_EQ(held_drawn, 0);
    EXPECT_GT(drawn_afterwards, 0);
}

TEST(Window, HearsOfEventsWhileFramesFollowWithoutAPause) {
    static bool moved;
    moved = false;
    Settings settings;
    Waker waker;
    LoopOptions options;
    options.stop = [] { return glfwGetTime() > 5; };
    bool asked = false;
    run_window(options, settings, waker, [&](Frame& frame) {
        frame.redraw_after = 0;
        frame.quit = moved;
        if (asked || frame.time < 0.3) return;  // after the window's first events
        asked = true;
        GLFWwindow* const window = glfwGetCurrentContext();
        glfwSetWindowPosCallback(window, [](GLFWwindow*, int, int) { moved = true; });
        glfwSetWindowPos(window, 37, 41);
    });
    EXPECT_TRUE(moved) << "otherwise no key would arrive either";
}

/// Runs a 400 × 300 window with a button at (100, 100) until `done` or for five seconds.
void run_with_button(const std::function<bool(const Frame&)>& done, std::function<void()> each = {}) {
    Settings settings;
    settings.window_width = 400;
    settings.window_height = 300;
    Waker waker;
    LoopOptions options;
    options.stop = [] { return glfwGetTime() > 5; };
    run_window(options, settings, waker, [&](Frame& frame) {
        if (each) each();
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({frame.width, frame.height});
        ImGui::Begin("##all", nullptr, ImGuiWindowFlags_NoDecoration);
        ImGui::SetCursorScreenPos({100, 100});
        button({frame.theme, frame.canvas}, "press", {.notes = {.tooltip = "What it does."}});
        ImGui::End();
        frame.quit = done(frame);
    });
}

TEST(Window, TooltipsComeThoughTheMouseRests) {
    bool moved = false, seen = false;
    run_with_button(
        [&](const Frame&) {
            for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
                seen |= std::string_view(window->Name).starts_with("##Tooltip") && window->Active && !window->Hidden;
            return seen;
        },
        [&] {
            if (moved) return;
            // As if the mouse had moved, with nothing afterwards.
            GLFWwindow* window = glfwGetCurrentContext();
            double x = 0, y = 0;
            glfwSetCursorPos(window, 110, 110);
            glfwGetCursorPos(window, &x, &y);
            ASSERT_EQ(x, 110) << "the window has to have the focus for this";
            moved = true;
        });
    EXPECT_TRUE(seen);
}

TEST(Window, SeesADoubleClickThatIsOverBeforeAFrameIsDrawn) {
    int frames = 0, clicks = 0, double_clicks = 0;
    run_with_button([&](const Frame&) { return frames > 12; },
                    [&] {
                        clicks += ImGui::IsMouseClicked(0) ? 1 : 0;
                        double_clicks += ImGui::IsMouseDoubleClicked(0) ? 1 : 0;
                        GLFWwindow* window = glfwGetCurrentContext();
                        if (++frames != 4) return void(glfwPostEmptyEvent());
                        const GLFWmousebuttonfun callback = glfwSetMouseButtonCallback(window, nullptr);
                        glfwSetMouseButtonCallback(window, callback);
                        for (const int action : {GLFW_PRESS, GLFW_RELEASE, GLFW_PRESS, GLFW_RELEASE}) callback(window, 0, action, 0);
                    });
    EXPECT_EQ(clicks, 2);
    EXPECT_EQ(double_clicks, 1);
}

TEST(Window, WhatADoubleClickOpensIsSeenWithoutAnotherEvent) {
    int frames = 0, since = -1;
    run_with_button([&](const Frame&) { return since >= 3; },
                    [&] {
                        if (since >= 0 || ImGui::IsMouseDoubleClicked(0)) ++since;
                        if (++frames < 4) return void(glfwPostEmptyEvent());
                        if (frames > 4) return;
                        GLFWwindow* window = glfwGetCurrentContext();
                        const GLFWmousebuttonfun callback = glfwSetMouseButtonCallback(window, nullptr);
                        glfwSetMouseButtonCallback(window, callback);
                        for (const int action : {GLFW_PRESS, GLFW_RELEASE, GLFW_PRESS, GLFW_RELEASE}) callback(window, 0, action, 0);
                    });
    EXPECT_GE(since, 3) << "a window that opens is measured first, then drawn, and then its field takes the keys";
}

TEST(InputQueue, TellsDoubleClicksByWhenTheyWerePressed) {
    InputQueue queue;
    const auto press = [&](double time, double blind = 0) {
        queue.add_button(0, true, 0, {}, time, blind);
        queue.add_button(0, false, 0, {}, time, blind);
        const Mouse down = queue.take(false, time).mouse;
        EXPECT_TRUE(down.down[0]);
        EXPECT_FALSE(queue.take(false, time).mouse.down[0]);
        EXPECT_TRUE(queue.empty());
        return down.again;
    };
    EXPECT_FALSE(press(1));
    EXPECT_TRUE(press(1.04));
    EXPECT_FALSE(press(2));
    EXPECT_TRUE(press(2.6, 0.3)) << "it may have been waiting for that long";
    EXPECT_FALSE(press(3.5, 0.3));
    queue.add_button(7, true, 0, {}, 4, 0);
    EXPECT_TRUE(queue.empty());
}

TEST(Window, CountsEveryPressOfAKeyBeforeAFrameIsDrawn) {
    int frames = 0, presses = 0, with_ctrl = 0, characters = 0, frames_with_characters = 0;
    run_with_button([&](const Frame&) { return frames > 20; },
                    [&] {
                        presses += key_pressed(Key::Right, false) ? 1 : 0;
                        with_ctrl += key_pressed('K') && ImGui::GetIO().KeyCtrl ? 1 : 0;
                        characters += ImGui::GetIO().InputQueueCharacters.Size;
                        frames_with_characters += ImGui::GetIO().InputQueueCharacters.empty() ? 0 : 1;
                        GLFWwindow* window = glfwGetCurrentContext();
                        if (++frames != 4) return void(glfwPostEmptyEvent());
                        const GLFWkeyfun key = glfwSetKeyCallback(window, nullptr);
                        glfwSetKeyCallback(window, key);
                        const GLFWcharfun character = glfwSetCharCallback(window, nullptr);
                        glfwSetCharCallback(window, character);
                        for (int press = 0; press < 3; ++press) {
                            for (const int action : {GLFW_PRESS, GLFW_RELEASE}) key(window, GLFW_KEY_RIGHT, 0, action, 0);
                            character(window, 'c');
                        }
                        key(window, GLFW_KEY_LEFT_CONTROL, 0, GLFW_PRESS, GLFW_MOD_CONTROL);
                        for (const int action : {GLFW_PRESS, GLFW_RELEASE}) key(window, GLFW_KEY_K, 0, action, GLFW_MOD_CONTROL);
                        key(window, GLFW_KEY_LEFT_CONTROL, 0, GLFW_RELEASE, 0);
                    });
    EXPECT_EQ(presses, 3);
    EXPECT_EQ(with_ctrl, 1);
    EXPECT_EQ(characters, 3);
    EXPECT_EQ(frames_with_characters, 3) << "each may be a shortcut";
}

TEST(InputQueue, GivesATextFieldItsCharactersAtOnceButInOrderWithOtherKeys) {
    InputQueue queue;
    const auto press = [&](int key, unsigned character) {
        queue.add_key(key, GLFW_PRESS, 0, 0);
        if (character != 0) queue.add_character(character, 0);
        queue.add_key(key, GLFW_RELEASE, 0, 0);
    };
    const auto take = [&] { return queue.take(true, 0).keys; };
    press(GLFW_KEY_A, 'a');
    press(GLFW_KEY_A, 'a');
    press(GLFW_KEY_BACKSPACE, 0);
    press(GLFW_KEY_BACKSPACE, 0);
    press(GLFW_KEY_B, 'b');
    const Keys first = take();
    EXPECT_THAT(first.characters, testing::ElementsAre('a', 'a'));
    EXPECT_TRUE(first.down[GLFW_KEY_BACKSPACE]);
    EXPECT_FALSE(first.down[GLFW_KEY_A]);
    EXPECT_FALSE(take().down[GLFW_KEY_BACKSPACE]);
    EXPECT_TRUE(take().down[GLFW_KEY_BACKSPACE]);
    EXPECT_THAT(take().characters, testing::IsEmpty()) << "the second one is only released here";
    EXPECT_THAT(take().characters, testing::ElementsAre('b'));
    EXPECT_TRUE(queue.empty());
    queue.add_key(-1, GLFW_PRESS, 0, 0);
    EXPECT_TRUE(queue.empty()) << "an unknown key";
}

TEST(InputQueue, DropsRepetitionsThatNoFrameHasTimeFor) {
    InputQueue queue;
    for (const int action : {GLFW_PRESS, GLFW_REPEAT, GLFW_REPEAT, GLFW_RELEASE}) {
        queue.add_key(GLFW_KEY_C, action, 0, 0);
        if (action != GLFW_RELEASE) queue.add_character('c', 0);
    }
    EXPECT_THAT(queue.take(false, 0).keys.characters, testing::ElementsAre('c'));
    EXPECT_FALSE(queue.take(false, 0).keys.down[GLFW_KEY_C]);
    EXPECT_TRUE(queue.empty()) << "nothing goes on once the key is released";
}

/// What each frame does: letters typed, "[" and "]" for the press and release of the left button, with "@" and where it was.
std::string frames_of(InputQueue& queue, bool typing, double now, double seconds_per_frame) {
    std::string all;
    bool was_down = false;
    for (int frame = 0; frame < 100 && !queue.empty(); ++frame, now += seconds_per_frame) {
        const Input input = queue.take(typing, now);
        for (const unsigned code : input.keys.characters) all += static_cast<char>(code);
        if (input.mouse.down[0] && !was_down) all += "[@" + std::to_string(static_cast<int>(input.mouse.at.value().x));
        if (!input.mouse.down[0] && was_down) all += "]@" + std::to_string(static_cast<int>(input.mouse.at.value().x));
        if (input.mouse.wheel_y != 0) all += "~";
        was_down = input.mouse.down[0];
        all += " ";
    }
    return all.substr(0, all.find_last_not_of(' ') + 1);
}

void press_letters(InputQueue& queue, std::string_view letters, double time) {
    for (const char letter : letters) {
        queue.add_key(GLFW_KEY_A + (letter - 'a'), GLFW_PRESS, 0, time);
        queue.add_character(static_cast<unsigned char>(letter), time);
        queue.add_key(GLFW_KEY_A + (letter - 'a'), GLFW_RELEASE, 0, time);
    }
}

TEST(InputQueue, KeepsKeysClicksAndTheWheelInTheirOrder) {
    InputQueue queue;
    press_letters(queue, "cd", 0);
    queue.add_button(0, true, 0, {10, 5}, 0, 0);
    queue.add_button(0, false, 0, {30, 5}, 0, 0);
    press_letters(queue, "e", 0);
    queue.add_wheel(0, 1, {40, 5}, 0);
    queue.add_wheel(0, 1, {40, 5}, 0);
    press_letters(queue, "f", 0);
    EXPECT_EQ(frames_of(queue, false, 0, 0.01), "c d [@10 ]@30 e ~ f");
}

TEST(InputQueue, AClickHasTheModifiersAndThePlaceThatItHad) {
    InputQueue queue;
    queue.add_key(GLFW_KEY_LEFT_SHIFT, GLFW_PRESS, 0, 0);
    queue.add_button(0, true, GLFW_MOD_SHIFT, {7, 8}, 0, 0);
    queue.add_button(0, false, GLFW_MOD_SHIFT, {7, 8}, 0, 0);
    queue.add_key(GLFW_KEY_LEFT_SHIFT, GLFW_RELEASE, 0, 0);
    const Input first = queue.take(false, 0);
    EXPECT_TRUE(first.mouse.down[0]);
    EXPECT_EQ(first.keys.modifiers, GLFW_MOD_SHIFT);
    EXPECT_EQ(first.mouse.at, (MousePosition{7, 8}));
    EXPECT_FALSE(queue.take(false, 0).mouse.down[0]);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.take(false, 0).mouse.at, std::nullopt) << "the mouse is where it is";
}

TEST(InputQueue, AClickThatJumpsIsSeenWhereItIsBeforeItPresses) {
    InputQueue queue;
    queue.add_button(0, true, 0, {7, 8}, 0, 0);
    queue.add_button(0, false, 0, {7, 8}, 0, 0);
    const MousePosition before{1, 1}, there{7, 8};
    const Mouse first = queue.take(false, 0, before).mouse;
    EXPECT_FALSE(first.down[0]);
    EXPECT_EQ(first.at, there);
    EXPECT_TRUE(queue.take(false, 0, there).mouse.down[0]);
    EXPECT_FALSE(queue.take(false, 0, there).mouse.down[0]);
    EXPECT_TRUE(queue.empty());
}

TEST(InputQueue, DropsWhatHasWaitedForMoreThanASecondButNoRelease) {
    InputQueue queue;
    press_letters(queue, std::string(50, 'c'), 10);
    queue.add_button(0, true, 0, {}, 10, 0);
    queue.add_button(0, false, 0, {}, 10, 0);
    press_letters(queue, "d", 11.5);
    const std::string frames = frames_of(queue, false, 10, 0.25);
    EXPECT_EQ(std::count(frames.begin(), frames.end(), 'c'), 3) << frames << ": each is pressed in one frame and released in the next";
    EXPECT_EQ(frames.find('['), std::string::npos) << frames;
    EXPECT_EQ(frames.back(), 'd') << "it is new";

    queue.add_key(GLFW_KEY_LEFT_CONTROL, GLFW_PRESS, 0, 20);
    queue.add_button(0, true, 0, {}, 20, 0);
    EXPECT_TRUE(queue.take(false, 20).mouse.down[0]);
    queue.add_button(0, false, 0, {}, 20, 0);
    queue.add_key(GLFW_KEY_LEFT_CONTROL, GLFW_RELEASE, 0, 20);
    const Input late = queue.take(false, 30);
    EXPECT_FALSE(late.mouse.down[0]) << "or it would be held for ever";
    EXPECT_FALSE(late.keys.down[GLFW_KEY_LEFT_CONTROL]);
}

TEST(InputQueue, DropsNothingThatIsTyped) {
    InputQueue queue;
    press_letters(queue, "abc", 0);
    queue.add_key(GLFW_KEY_BACKSPACE, GLFW_PRESS, 0, 0);
    queue.add_key(GLFW_KEY_BACKSPACE, GLFW_RELEASE, 0, 0);
    press_letters(queue, "d", 0);
    EXPECT_EQ(frames_of(queue, true, 60, 1), "abc  d");
}

TEST(Window, GoesOnWhileTheFontsOfALargePictureAreMade) {
    Settings settings;
    settings.window_width = 400;
    settings.window_height = 300;
    Waker waker;
    struct Taken {
        int ordered = 0, taken = 0;  // frame numbers
        Image image;
    };
    std::vector<Taken> pictures;
    int frames = 0;
    bool waits = false;
    float scale = 0;
    run_window({}, settings, waker, [&](Frame& frame) {
        draw_demo(frame);
        if (frame.for_picture) return;
        ++frames;
        EXPECT_TRUE(scale == 0 || frame.theme.scale == scale) << "the window keeps its own fonts";
        scale = frame.theme.scale;
        frame.redraw_after = 0;
        if (waits) return;
        if (pictures.size() == 2) {
            frame.quit = true;
            return;
        }
        waits = true;
        PictureOrder order;
        order.scale = 4;
        order.take = [&, ordered = frames](TakenPicture picture) {
            pictures.push_back({ordered, frames, std::move(picture.image)});
            waits = false;
        };
        order.fail = [&](const std::string& why) {
            ADD_FAILURE() << why;
            pictures.resize(2);
            waits = false;
        };
        frame.picture = std::move(order);
    });
    ASSERT_EQ(pictures.size(), 2U);
    EXPECT_GT(pictures[0].taken, pictures[0].ordered) << "its fonts were not waited for";
    EXPECT_EQ(pictures[1].taken, pictures[1].ordered) << "they are at hand now";
    EXPECT_GT(pictures[0].image.width, 4 * 300);
    EXPECT_TRUE(pictures[0].image.pixels == pictures[1].image.pixels);
}

TEST(Window, TheCloseButtonIsAQuestionToTheDrawing) {
    Settings settings;
    Waker waker;
    int frames = 0, asked = 0;
    run_window({}, settings, waker, [&](Frame& frame) {
        ++frames;
        if (frame.close_asked) ++asked;
        // As the window system does when the close button is pressed.
        if (frames == 2 || frames == 6) glfwSetWindowShouldClose(glfwGetCurrentContext(), GLFW_TRUE);
        frame.quit = asked == 2;
        frame.redraw_after = 0;
    });
    EXPECT_EQ(asked, 2);
    EXPECT_GT(frames, 6) << "the first time the window stays open";
}

TEST(Window, SleepEndsWhenItIsToldToStop) {
    Settings settings;
    Waker waker;
    LoopOptions options;
    std::atomic<bool> stop = false;
    options.stop = [&stop] { return stop.load(); };
    std::jthread later([&stop] {
        std::this_thread::sleep_for(std::chrono::seconds(2));
        stop = true;
    });
    run_window(options, settings, waker, [](Frame&) {});
    EXPECT_TRUE(stop);
}

TEST(Window, AnExceptionOfTheDrawingComesOut) {
    Settings settings;
    Waker waker;
    EXPECT_THROW(run_window({}, settings, waker, [](Frame&) { throw std::runtime_error("no"); }), std::runtime_error);
    waker.wake();  // harmless without a window
}

TEST(Window, APlaceOffTheScreenIsNotKept) {
    Settings settings;
    settings.window_placed = true;
    settings.window_x = 90000;
    settings.window_y = -90000;
    settings.window_width = 60000;
    settings.window_height = 500;
    Waker waker;
    LoopOptions options;
    options.frames = 3;
    float width = 0;
    run_window(options, settings, waker, [&width](Frame& frame) { width = frame.width; });
    EXPECT_LT(settings.window_x, 20000);
    EXPECT_GT(settings.window_y, -20000);
    EXPECT_LT(width, 20000);
}

TEST(WindowPlacement, FitsTheScreensThatThereAre) {
    const WorkArea small{0, 30, 1280, 690}, large{1280, 0, 2560, 1440};
    const auto place = [](WindowPlacement window, std::vector<WorkArea> areas) {
        const WindowPlacement at = visible_placement(window, areas);
        return std::array<int, 5>{at.x, at.y, at.width, at.height, at.placed ? 1 : 0};
    };
    using Place = std::array<int, 5>;
    EXPECT_EQ(place({800, 600, 100, 90, true}, {small}), (Place{100, 90, 800, 600, 1}));
    EXPECT_EQ(place({2000, 1200, 300, 200, true}, {small}), (Place{300, 200, 1280, 690, 0})) << "a large screen was taken away";
    EXPECT_EQ(place({2000, 1200, 1300, 200, true}, {small, large}), (Place{1300, 200, 2000, 1200, 1}));
    EXPECT_EQ(place({800, 600, 1000, 100, true}, {small, large}), (Place{1000, 100, 800, 600, 1})) << "it may lie on two";
    EXPECT_EQ(place({2000, 1200, 5000, 200, true}, {small, large}), (Place{5000, 200, 1280, 690, 0})) << "nothing of it is seen";
    EXPECT_EQ(place({}, {small}), (Place{0, 0, 1280, 690, 0}));
    EXPECT_EQ(place({}, {}), (Place{0, 0, 1600, 1000, 0}));
}

TEST(Window, NoDisplayIsSaidPlainly) {
    const char* display = std::getenv("DISPLAY");
    if (display == nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr) GTEST_SKIP() << "needs X11 to take away";
    const std::string kept = display;
    setenv("DISPLAY", ":76543", 1);
    std::string message;
    try {
        Settings settings;
        Waker waker;
        run_window({}, settings, waker, [](Frame&) {});
    } catch (const PlatformError& error) {
        message = error.what();
    }
    setenv("DISPLAY", kept.c_str(), 1);
    EXPECT_THAT(message, testing::HasSubstr("no window can be opened here"));
    EXPECT_THAT(message, testing::HasSubstr(":76543"));
}

}  // namespace
}  // namespace attn::app
