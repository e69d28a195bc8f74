/// Hugging Face's cache: which snapshot is opened, that links are followed, and the messages for a broken cache.

#include "engine/io/hub_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "engine/check/check.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using test::file_bytes;
using test::put_file;
using test::TemporaryFolder;
using testing::HasSubstr;

/// A cache in huggingface_hub's layout, with a golden model behind links.
class HubCache : public testing::Test {
protected:
    fs::path entry() const { return folder_.path() / "models--some--tiny-model"; }
    fs::path snapshot(const std::string& commit) const { return entry() / "snapshots" / commit; }
    void link(const std::string& commit, const std::string& name, const fs::path& target) const {
        fs::create_directories(snapshot(commit));
        fs::create_symlink(target, snapshot(commit) / name);
    }
    /// Blobs have no file name extension; links two folders below refer to them.
    void put_model(const std::string& commit, const std::string& golden = "gpt2") const {
        fs::create_directories(entry() / "blobs");
        int number = 0;
        for (const auto& file : fs::directory_iterator(fs::path(ATTN_TEST_DATA) / "golden/hf" / golden)) {
            const std::string blob = commit + std::to_string(number++);
            put_file(entry() / "blobs" / blob, file_bytes(file.path()));
            link(commit, file.path().filename().string(), fs::path("../../blobs") / blob);
        }
    }
    void put_main(const std::string& text) const {
        fs::create_directories(entry() / "refs");
        put_file(entry() / "refs" / "main", text);
    }
    static std::string refusal(const std::function<void()>& read) {
        try {
            read();
        } catch (const FileError& error) {
            return error.what();
        }
        return "nothing was refused";
    }
    std::string refusal() const {
        const std::string said = refusal([&] { model_in_cache(entry()); });
        EXPECT_EQ(refusal([&] { open_model_folder(entry()); }), said);
        EXPECT_EQ(refusal([&] { read_tokenizer(entry()); }), said);
        return said;
    }

    TemporaryFolder folder_;
};

TEST_F(HubCache, AModelOpensByItsFolderByThatOfTheSnapshotsAndByTheSnapshot) {
    put_model("abc");
    put_main("abc\n");
    for (const fs::path& path : {entry(), entry() / "", entry() / "snapshots", entry() / "snapshots/", snapshot("abc")}) {
        const ModelFolder opened = open_model_folder(path);
        EXPECT_EQ(opened.path.lexically_normal(), snapshot("abc")) << path;
        EXPECT_EQ(opened.config.num_layers, open_model_folder(fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2").config.num_layers);
        EXPECT_NE(read_tokenizer(path), nullptr);
    }
    EXPECT_TRUE(check::check_file(snapshot("abc")).ok()) << "the links lead to the right blobs";
}

TEST_F(HubCache, MainDecidesElseTheNewestSnapshot) {
    put_model("old", "gpt2");
    put_model("new", "llama_tied");
    const auto now = fs::file_time_type::clock::now();
    fs::last_write_time(snapshot("old"), now - std::chrono::hours(2));
    fs::last_write_time(snapshot("new"), now - std::chrono::hours(1));
    EXPECT_EQ(model_in_cache(entry()), snapshot("new"));
    fs::last_write_time(snapshot("old"), now);
    EXPECT_EQ(model_in_cache(entry()), snapshot("old"));
    put_main("new");
    EXPECT_EQ(model_in_cache(entry()), snapshot("new"));
}

TEST_F(HubCache, AFolderWithItsModelInItIsNoEntryWhateverItsName) {
    fs::create_directories(entry() / "snapshots");
    put_file(entry() / "config.json", "{}");
    EXPECT_FALSE(is_hub_entry(entry()));
    EXPECT_EQ(model_in_cache(entry()), entry());
    EXPECT_FALSE(is_hub_entry(folder_.path()));
    EXPECT_FALSE(is_hub_entry(folder_.path() / "models--not--there"));
    EXPECT_FALSE(is_hub_entry(""));
}

TEST_F(HubCache, BrokenCachesAreToldInOneSentence) {
    fs::create_directories(entry());
    EXPECT_THAT(refusal(), HasSubstr("models--some--tiny-model: this folder of Hugging Face's cache has no snapshot"));
    put_main("abc");
    EXPECT_THAT(refusal(), HasSubstr("refs/main names the snapshot abc, which does not exist"));
    for (const char* text : {"../../../etc", "..", "", "a b", "a/b", "\x01"}) {
        put_main(text);
        EXPECT_THAT(refusal(), HasSubstr("refs/main: expected the name of a snapshot")) << text;
    }
    put_main(std::string(5000, 'a'));
    EXPECT_THAT(refusal(), HasSubstr("refs/main"));
    put_main("abc");
    link("abc", "config.json", "../../blobs/gone");
    EXPECT_THAT(refusal(), HasSubstr("abc/config.json: this link leads to a file that does not exist"));
    fs::remove(snapshot("abc") / "config.json");
    link("abc", "config.json", "config.json");
    EXPECT_THAT(refusal(), HasSubstr("abc/config.json: this link leads in a circle"));
    fs::remove_all(snapshot("abc"));
    fs::create_symlink("abc", snapshot("abc"));
    EXPECT_THAT(refusal(), HasSubstr("refs/main names the snapshot abc, which does not exist"));
    fs::remove_all(entry() / "refs");
    EXPECT_THAT(refusal(), HasSubstr("has no snapshot"));
}

TEST_F(HubCache, OfTheWholeCacheAModelIsNamed) {
    fs::create_directories(entry().parent_path() / "datasets--some--set");
    EXPECT_NO_THROW(refuse_whole_cache(entry().parent_path()));
    fs::create_directories(entry());
    for (const fs::path& whole : {entry().parent_path(), entry().parent_path() / ""}) {
        try {
            model_in_cache(whole);
            ADD_FAILURE() << whole;
        } catch (const FileError& error) {
            EXPECT_THAT(error.what(), HasSubstr("open one of the models in it, such as " + entry().string()));
        }
    }
    const fs::path home = folder_.path() / "home", below = home / "hub" / "models--other";
    fs::create_directories(below);
    try {
        refuse_whole_cache(home);
        ADD_FAILURE();
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), HasSubstr(below.string()));
    }
}

TEST_F(HubCache, WhatIsNotNeededMayBeMissing) {
    put_model("abc");
    link("abc", "picture.png", "../../blobs/gone");
    EXPECT_EQ(model_in_cache(entry()), snapshot("abc"));
    link("abc", "model-00002-of-00002.safetensors", "../../blobs/gone");
    EXPECT_THAT(refusal(), HasSubstr("model-00002-of-00002.safetensors: this link leads to a file that does not exist"));
}

TEST_F(HubCache, OfGgufFilesTheOnlyOneIsTaken) {
    put_file(folder_.path() / "blob", "GGUF");
    link("abc", "small.Q8_0.gguf", folder_.path() / "blob");
    EXPECT_EQ(model_in_cache(entry()), snapshot("abc") / "small.Q8_0.gguf");
    link("abc", "small.Q4_0.gguf", folder_.path() / "blob");
    EXPECT_THAT(refusal(), HasSubstr("abc: holds 2 GGUF files: open one of them, such as small.Q4_0.gguf"));
}

TEST(HubName, IsThatOfOrganisationAndModel) {
    EXPECT_EQ(hub_name("/x/models--openai-community--gpt2/snapshots/abc"), "openai-community/gpt2");
    EXPECT_EQ(hub_name("models--gpt2/"), "gpt2");
    EXPECT_EQ(hub_name("/x/models--a--b--c"), "a/b/c");
    EXPECT_EQ(hub_name("/x/gpt2"), "");
    EXPECT_EQ(hub_name("/x/models--"), "");
}

}  // namespace
}  // namespace attn
