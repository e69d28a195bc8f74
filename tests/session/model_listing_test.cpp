/// Which models are listed, and what happens when they are opened.

#include "app/session/files/model_listing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>

#include "app/session/document/presets.hpp"
#include "app/session/files/file_preview.hpp"
#include "app/session/session.hpp"
#include "app/session/states/opened_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The shortest whole file: the length of a header without tensors.
const std::string kNoTensors("\2\0\0\0\0\0\0\0{}", 10);

const fs::path kGpt2Folder = fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2";

class Shelf : public testing::Test {
protected:
    fs::path put_file(const fs::path& name, const std::string& contents = "x") const {
        fs::create_directories((folder / name).parent_path());
        std::ofstream(folder / name, std::ios::binary) << contents;
        return folder / name;
    }
    void put_model(const fs::path& name) const {
        put_file(name / "config.json", R"({"model_type": "gpt2"})");
        put_file(name / "model.safetensors", kNoTensors);
        put_file(name / "tokenizer.json");
    }
    /// A folder in the cache's layout, with the golden model.
    fs::path put_entry(const std::string& name) const {
        const fs::path snapshot = folder / name / "snapshots/abc";
        fs::create_directories(snapshot);
        for (const auto& file : fs::directory_iterator(kGpt2Folder)) fs::create_symlink(file.path(), snapshot / file.path().filename());
        return folder / name;
    }
    static std::vector<std::string> names(const ModelShelf& shelf) {
        std::vector<std::string> all;
        for (const ModelShelf::Model& model : shelf.models) all.push_back(model.name);
        return all;
    }

    test::TemporaryFolder folder;
};

TEST_F(Shelf, ListsWhatOllamaHasUnderItsOwnNames) {
    const auto manifest = [](const std::string& digest) {
        return R"({"schemaVersion": 2, "layers": [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:99"},
                   {"mediaType": "application/vnd.ollama.image.model", "digest": ")" +
               digest + R"(", "size": 7}]})";
    };
    put_file("ollama/manifests/registry.ollama.ai/library/llama3.2/1b", manifest("sha256:0a1b"));
    put_file("ollama/manifests/registry.ollama.ai/someone/tiny/latest", manifest("sha256:0c"));
    put_file("ollama/manifests/hf.co/org/name/Q4_K", manifest("sha256:0d"));
    put_file("ollama/manifests/registry.ollama.ai/library/evil/latest", manifest("sha256:../../../etc/passwd"));
    put_file("ollama/manifests/registry.ollama.ai/library/torn/latest", "{\"layers\": [");
    put_file("ollama/manifests/registry.ollama.ai/library/list/latest", "[1, 2]");
    put_file("ollama/blobs/sha256-0a1b", "1234567");
    const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/gguf/llama_biased.gguf";  // with a tokenizer
    fs::copy_file(golden, folder / "ollama/blobs/sha256-0c");
    const ModelShelf shelf = list_models("", {}, {folder / "ollama"});
    EXPECT_THAT(names(shelf), ElementsAre("hf.co/org/name:Q4_K", "llama3.2:1b", "someone/tiny:latest"));
    EXPECT_EQ(shelf.models[0].problem, "its file is missing");
    EXPECT_EQ(shelf.models[1].bytes, 7U);
    const auto opened = OpenedModel::open(shelf.models[2].path);
    EXPECT_EQ(opened->name(), "someone/tiny:latest");
    const ModelShelf recent = list_models("", {(folder / "ollama/blobs/sha256-0c").string()}, {});
    EXPECT_THAT(names(recent), ElementsAre("someone/tiny:latest"));
    EXPECT_TRUE(is_in_store(shelf.models[2].path));
    EXPECT_FALSE(is_in_store(golden));
}

TEST_F(Shelf, ListsFoldersAndGgufFilesSideBySideAndOneFolderDeeper) {
    put_model("gpt2");
    put_model("org/small");
    put_model("too/deep/model");
    put_model(".hidden");
    put_file("a.gguf", "1234567");
    put_file("org/b.gguf");
    put_file("notes.txt");
    put_file("run/config.json");
    const ModelShelf shelf = list_models(folder.path(), {}, {});
    EXPECT_THAT(names(shelf), ElementsAre("a.gguf", "gpt2", "org/b.gguf", "org/small"));
    EXPECT_EQ(shelf.models[0].bytes, 7U);
    EXPECT_EQ(shelf.models[1].bytes, kNoTensors.size());
    EXPECT_EQ(shelf.models[1].place, ModelShelf::Place::Folder);
    EXPECT_EQ(shelf.folder_problem, "");
    const ModelShelf recent = list_models(folder.path(), {(folder / "org/small").string(), "/elsewhere/org/other"}, {});
    EXPECT_THAT(names(recent), ElementsAre("org/small", "other", "a.gguf", "gpt2", "org/b.gguf")) << "a model has one name";
    EXPECT_NE(list_models(folder / "none", {}, {}).folder_problem, "");
}

TEST_F(Shelf, TheCachesModelsHaveTheirNamesAndTheirProblems) {
    const fs::path whole = put_entry("models--some--tiny");
    fs::create_directories(folder / "models--some--empty");
    fs::create_directories(folder / "datasets--some--texts/snapshots/abc");
    put_file("models--some--quants/snapshots/abc/q4.gguf");
    put_file("models--some--quants/snapshots/abc/q8.gguf");
    const ModelShelf shelf = list_models({}, {}, {folder.path()});
    EXPECT_THAT(names(shelf), ElementsAre("some/empty", "some/quants/q4.gguf", "some/quants/q8.gguf", "some/tiny"));
    EXPECT_THAT(shelf.models[0].problem, HasSubstr("has no snapshot"));
    EXPECT_EQ(shelf.models[3].problem, "");
    EXPECT_EQ(shelf.models[3].path, whole);
    EXPECT_EQ(shelf.models[3].bytes,
              fs::file_size(kGpt2Folder / "model.safetensors") + fs::file_size(kGpt2Folder / "expected.safetensors"));
}

TEST_F(Shelf, IncompleteDownloadsSaySo) {
    for (const char* name : {"a", "b", "c", "d"}) put_model(name);
    put_file("a/model.safetensors", std::string("\30\0\0\0\0\0\0\0{\"a\":", 13));
    for (const char* name : {"b", "c"}) {
        fs::remove(folder / name / "model.safetensors");
        put_file(fs::path(name) / "model.safetensors.index.json", R"({"weight_map": {"x": "one.safetensors", "y": "two.safetensors"}})");
        put_file(fs::path(name) / "one.safetensors", kNoTensors);
    }
    put_file("b/two.safetensors", kNoTensors);
    const ModelShelf shelf = list_models(folder.path(), {}, {});
    EXPECT_THAT(names(shelf), ElementsAre("a", "b", "c", "d"));
    EXPECT_EQ(shelf.models[0].problem, "its download is incomplete");
    EXPECT_EQ(shelf.models[1].problem, "");
    EXPECT_EQ(shelf.models[2].problem, "its download is incomplete") << "a shard is missing";
    EXPECT_EQ(shelf.models[3].problem, "");
}

TEST_F(Shelf, WhatCannotBeOpenedSaysSo) {
    const std::vector<std::tuple<std::string, std::string, std::string>> changed = {
        {"a", "config.json", R"({"model_type": "whisper"})"},
        {"b", "config.json", R"({"model_type": "llama", "quantization_config": {"quant_method": "gptq"}})"},
        {"c", "config.json", "x"},
        {"d", "config.json", "{}"},
        {"d2", "config.json", "[]"},
        {"e", "config.json", R"({"model_type": "llama", "quantization_config": null})"}};
    for (const auto& [name, file, contents] : changed) {
        put_model(name);
        put_file(fs::path(name) / file, contents);
    }
    put_model("f");
    fs::remove(folder / "f/tokenizer.json");
    put_file("models--some--adapter/snapshots/abc/adapter_config.json", "{}");
    put_file("models--some--weightless/snapshots/abc/config.json", R"({"model_type": "gpt2"})");
    const ModelShelf shelf = list_models(folder.path(), {}, {});
    EXPECT_THAT(names(shelf), ElementsAre("a", "b", "c", "d", "d2", "e", "f", "some/adapter", "some/weightless"));
    EXPECT_EQ(shelf.models[0].problem, "models of type whisper are not supported");
    EXPECT_EQ(shelf.models[1].problem, "its weights are quantized for PyTorch");
    EXPECT_THAT(shelf.models[2].problem, HasSubstr("config.json"));
    EXPECT_EQ(shelf.models[3].problem, "its config.json does not name a model type");
    EXPECT_EQ(shelf.models[4].problem, "its config.json is not a JSON object");
    EXPECT_EQ(shelf.models[5].problem, "");
    EXPECT_EQ(shelf.models[6].problem, "") << "texts are ids where there is no tokenizer";
    EXPECT_EQ(shelf.models[6].bytes, kNoTensors.size());
    EXPECT_EQ(shelf.models[7].problem, "an adapter, not a model");
    EXPECT_EQ(shelf.models[8].problem, "it has no .safetensors weights");
}

TEST_F(Shelf, RecentModelsComeFirstAndOnceAndSayWhenTheyAreGone) {
    put_model("gpt2");
    put_model("other");
    const ModelShelf shelf = list_models(folder.path(), {folder / "other", folder / "gone"}, {folder.path()});
    EXPECT_THAT(names(shelf), ElementsAre("other", "gone", "gpt2"));
    EXPECT_EQ(shelf.models[0].place, ModelShelf::Place::Recent);
    EXPECT_EQ(shelf.models[0].problem, "");
    EXPECT_EQ(shelf.models[1].problem, "it no longer exists");
}

TEST_F(Shelf, LinksInACircleEndTheListing) {
    fs::create_directories(folder / "a");
    fs::create_symlink(folder.path(), folder / "a/b");
    fs::create_symlink("c", folder / "c");
    put_model("gpt2");
    EXPECT_THAT(names(list_models(folder.path(), {}, {})), ElementsAre("gpt2"));
}

/// The environment variables used by transformers and llama.cpp.
TEST_F(Shelf, CachesAreWhereTheVariablesSay) {
    std::map<std::string, std::optional<std::string>> before;
    for (const char* name : {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME", "LLAMA_CACHE"}) {
        if (const char* value = std::getenv(name)) before[name] = value;
        else before[name] = std::nullopt;
        unsetenv(name);
    }
    EXPECT_THAT(model_caches(), IsEmpty());
    for (const char* name : {"home/.cache/huggingface/hub", "home/.cache/llama.cpp", "hf/hub", "own", "xdg/huggingface/hub"})
        fs::create_directories(folder / name);
    setenv("HOME", (folder / "home").c_str(), 1);
    EXPECT_THAT(model_caches(), ElementsAre(folder / "home/.cache/huggingface/hub", folder / "home/.cache/llama.cpp"));
    EXPECT_EQ(list_models("", {}, {}).hub, folder / "home/.cache/huggingface/hub");
    setenv("HF_HOME", (folder / "hf").c_str(), 1);
    EXPECT_EQ(list_models("", {}, {}).hub, folder / "hf/hub");
    setenv("HF_HUB_CACHE", (folder / "own").c_str(), 1);
    setenv("XDG_CACHE_HOME", (folder / "xdg").c_str(), 1);
    EXPECT_THAT(model_caches(), ElementsAre(folder / "own", folder / "hf/hub", folder / "xdg/huggingface/hub"));
    setenv("HF_HUB_CACHE", "relative", 1);
    EXPECT_THAT(model_caches(), ElementsAre(folder / "hf/hub", folder / "xdg/huggingface/hub"));
    for (const auto& [name, value] : before) {
        if (value) setenv(name.c_str(), value->c_str(), 1);
        else unsetenv(name.c_str());
    }
}

TEST_F(Shelf, AModelOfTheCacheOpensByItsFolderAndIsRemembered) {
    const fs::path entry = put_entry("models--some--tiny");
    EXPECT_THAT(preview_of(entry).words, HasSubstr("GPT-2 model"));
    Session session(open_preset("causal-attention"), [] {});
    session.apply({command::OpenFile{entry}, ""});
    session.wait_for_files();
    ASSERT_FALSE(session.files().failed) << session.files().notice;
    ASSERT_NE(session.document().model, nullptr);
    EXPECT_EQ(session.document().model->name(), "some/tiny");
    EXPECT_EQ(session.document().model->path(), entry / "snapshots/abc");
    EXPECT_THAT(session.files().recent_models, ElementsAre(entry.string()));
    // As with a command line argument: it is opened before the window adds the recent files.
    session.set_recent_files({}, {"/of/old", entry.string()});
    EXPECT_THAT(session.files().recent_models, ElementsAre(entry.string(), "/of/old"));
    session.apply({command::ListModels{}, ""});
    session.wait_for_files();
    ASSERT_NE(session.files().models, nullptr);
    EXPECT_EQ(session.files().models->models.front().name, "some/tiny");

    fs::remove_all(entry / "snapshots");
    fs::create_directories(entry / "snapshots");
    EXPECT_TRUE(preview_of(entry).refused);
    session.apply({command::OpenFile{entry}, ""});
    session.wait_for_files();
    EXPECT_TRUE(session.files().failed);
    EXPECT_THAT(session.files().notice, HasSubstr("has no snapshot"));
    EXPECT_EQ(session.document().model->name(), "some/tiny") << "what was open stays";
}

/// What does not fit becomes an outline or is refused; with more memory it is computed.
TEST_F(Shelf, AnotherMemoryBudgetCountsAtOnce) {
    Session session(
        open_preset("causal-attention"), [] {}, 1e-3);
    EXPECT_EQ(session.wait()->trace, nullptr);
    EXPECT_THAT(session.wait()->problem, HasSubstr("memory budget"));
    session.apply({command::SetMemoryBudget{512}, ""});
    EXPECT_NE(session.wait()->trace, nullptr);
    session.apply({command::SetMemoryBudget{1e-3}, ""});
    EXPECT_THAT(session.wait()->problem, HasSubstr("memory budget"));
}

}  // namespace
}  // namespace attn::app
