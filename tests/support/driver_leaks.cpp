/// In programs that draw, under the address sanitizer: what the graphics driver never frees is no fault of ours.

extern "C" {

const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() { return "leak:_dri.so\nleak:libgallium\nleak:libLLVM\nleak:libGLX_\nleak:libEGL_\n"; }

/// A leak is known by the library that allocated it, so every library stays loaded until the end.
int dlclose(void*) noexcept;
int dlclose(void*) noexcept { return 0; }
}
