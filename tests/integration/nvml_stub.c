/* A driver's library for tests: the symbols and structures of NVML, answers made up. Told by the environment:
 * STUB_GPUS how many, STUB_HANG which one never answers, STUB_LOST which one is lost, STUB_XID what is pushed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long u64;
typedef struct { int index; } Gpu;
enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, TIMEOUT = 10, LOST = 15 };

static Gpu gpus[8];
static int told(const char *name, int otherwise) { const char *v = getenv(name); return v && *v ? atoi(v) : otherwise; }
static int state(Gpu *g) {
    if (g->index == told("STUB_HANG", -1)) sleep(3600);
    return g->index == told("STUB_LOST", -1) ? LOST : OK;
}
#define ALIVE(g) do { int s_ = state(g); if (s_) return s_; } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; for (int i = 0; i < 8; i++) gpus[i].index = i; return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "stub"; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "580.65.06"); return OK; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = told("STUB_GPUS", 1); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, Gpu **out) { *out = &gpus[i]; return OK; }
int nvmlDeviceGetUUID(Gpu *g, char *out, unsigned n) { snprintf(out, n, "GPU-00000000-0000-0000-0000-%012d", g->index); return OK; }
int nvmlDeviceGetName(Gpu *g, char *out, unsigned n) { (void)g; snprintf(out, n, "NVIDIA H200"); return OK; }
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
int nvmlDeviceGetPciInfo_v3(Gpu *g, Pci *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 0x18 + g->index);
    return OK;
}
int nvmlDeviceGetTotalEnergyConsumption(Gpu *g, u64 *out) { ALIVE(g); *out = 5000000000000ULL + g->index; return OK; }
int nvmlDeviceGetPowerUsage(Gpu *g, unsigned *out) { ALIVE(g); *out = 612345 + g->index; return OK; }
int nvmlDeviceGetTemperature(Gpu *g, int sensor, unsigned *out) { (void)sensor; ALIVE(g); *out = 61; return OK; }
typedef struct { unsigned version; int margin; } Margin;
int nvmlDeviceGetMarginTemperature(Gpu *g, Margin *out) { ALIVE(g); out->margin = -3; return OK; }
int nvmlDeviceGetClockInfo(Gpu *g, int kind, unsigned *out) { ALIVE(g); *out = kind == 2 ? 3201 : 1980; return OK; }
int nvmlDeviceGetCurrentClocksEventReasons(Gpu *g, u64 *out) { ALIVE(g); *out = 0x44; return OK; }
typedef struct { unsigned gpu, memory; } Use;
int nvmlDeviceGetUtilizationRates(Gpu *g, Use *out) { ALIVE(g); out->gpu = 98; out->memory = 41; return OK; }
typedef struct { unsigned version; u64 total, reserved, free, used; } Memory;
int nvmlDeviceGetMemoryInfo_v2(Gpu *g, Memory *out) {
    ALIVE(g);
    if (out->version != 0x02000028) return INVALID;
    out->total = 141ULL << 30; out->reserved = 1ULL << 30; out->free = 40ULL << 30; out->used = 100ULL << 30;
    return OK;
}
int nvmlDeviceGetPersistenceMode(Gpu *g, int *out) { ALIVE(g); *out = 1; return OK; }
int nvmlDeviceGetMigMode(Gpu *g, unsigned *now, unsigned *next) { ALIVE(g); *now = *next = 0; return OK; }
int nvmlDeviceGetEccMode(Gpu *g, int *now, int *next) { ALIVE(g); *now = *next = 1; return OK; }
int nvmlDeviceGetTotalEccErrors(Gpu *g, int kind, int life, u64 *out) { ALIVE(g); *out = 10 * life + kind; return OK; }
int nvmlDeviceGetRemappedRows(Gpu *g, unsigned *cor, unsigned *unc, unsigned *pending, unsigned *failed) {
    ALIVE(g); *cor = 1; *unc = 2; *pending = 1; *failed = 0; return OK;
}
typedef struct { unsigned max, high, partial, low, none; } Histogram;
int nvmlDeviceGetRowRemapperHistogram(Gpu *g, Histogram *out) { ALIVE(g); *out = (Histogram){2558, 2, 0, 0, 0}; return OK; }
typedef struct { u64 reference, violation; } Violation;
int nvmlDeviceGetViolationStatus(Gpu *g, int policy, Violation *out) { ALIVE(g); out->reference = 1; out->violation = 7000000000ULL * (policy == 0); return OK; }
typedef struct { unsigned version; u64 counts[11]; unsigned exceeded; } Sram;
int nvmlDeviceGetSramEccErrorStatus(Gpu *g, Sram *out) { ALIVE(g); if (out->version != 0x1000068) return INVALID; out->exceeded = 1; return OK; }
typedef struct { unsigned version; unsigned char uuid[16]; int status; unsigned clique; unsigned char state; unsigned mask; unsigned char summary; } Fabric;
int nvmlDeviceGetGpuFabricInfoV(Gpu *g, Fabric *out) {
    ALIVE(g);
    if (out->version != 0x3000028) return INVALID;
    out->state = 3; out->status = 0; out->mask = 0x55; out->summary = 1;
    return OK;
}
typedef struct { unsigned id, scope; long long ts, latency; int type, code; union { double d; unsigned ui; u64 ull; } value; } FieldValue;
int nvmlDeviceGetFieldValues(Gpu *g, int count, FieldValue *values) {
    ALIVE(g);
    for (int i = 0; i < count; i++) {
        FieldValue *v = values + i;
        v->code = OK; v->type = 3; v->value.ull = 0;
        switch (v->id) {
        case 82: v->type = 0; v->value.ui = 55; break;
        case 91: v->type = 1; v->value.ui = 18; break;
        case 186: v->type = 1; v->value.ui = 640000; break;
        case 230: v->type = 1; v->value.ui = 1; break;
        case 269: v->value.ull = 11; break;
        case 214: v->value.ull = v->scope; break; /* 0 + 1 + ... + 17 */
        default: v->code = NOT_SUPPORTED;
        }
    }
    return OK;
}
typedef struct { unsigned pid; u64 memory; unsigned gi, ci; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu *g, unsigned *count, Process *out) {
    ALIVE(g);
    if (!out) { *count = 1; return 7; }
    *count = 1;
    out[0] = (Process){(unsigned)getpid(), 1 << 20, 0xFFFFFFFF, 0xFFFFFFFF};
    return OK;
}
typedef struct { unsigned version, supported; } GpmSupport;
int nvmlGpmQueryDeviceSupport(Gpu *g, GpmSupport *out) { ALIVE(g); if (out->version != 1) return INVALID; out->supported = 1; return OK; }
int nvmlGpmSampleAlloc(void **out) { *out = calloc(1, 8); return OK; }
int nvmlGpmSampleFree(void *sample) { free(sample); return OK; }
int nvmlGpmSampleGet(Gpu *g, int *sample) { ALIVE(g); *sample = 1 + g->index; return OK; }
typedef struct { unsigned id; int code; double value; char *names[3]; } Metric;
typedef struct { unsigned version, count; int *old, *new; Metric metrics[98]; } Metrics;
int nvmlGpmMetricsGet(Metrics *asked) {
    if (asked->version != 1 || !*asked->old || !*asked->new) return INVALID;
    for (unsigned i = 0; i < asked->count; i++) {
        Metric *m = asked->metrics + i;
        m->code = m->id == 13 ? NOT_SUPPORTED : OK;
        m->value = m->id;
    }
    return OK;
}
typedef struct { Gpu *gpu; u64 kind, data; unsigned gi, ci; } Event;
static int pushed;
int nvmlEventSetCreate(void **out) { *out = calloc(1, 8); return OK; }
int nvmlEventSetFree(void *set) { free(set); return OK; }
int nvmlDeviceRegisterEvents(Gpu *g, u64 kinds, void *set) { (void)g; (void)set; return kinds == 8 ? OK : INVALID; }
int nvmlEventSetWait_v2(void *set, Event *out, unsigned ms) {
    (void)set;
    int code = told("STUB_XID", 0);
    if (!code || pushed++) { usleep(1000 * ms); return TIMEOUT; }
    *out = (Event){&gpus[told("STUB_GPUS", 1) - 1], 8, code, 0xFFFFFFFF, 0xFFFFFFFF};
    return OK;
}
