/* Temporary: enough of the runtime for the wrappers to compile and link against. */
#include "internal.h"
struct pv_real_table pv_real;
int pv_full;
uint32_t pv_image;
static uint64_t off = ~0ull;
uint64_t *pv_generation = &off;
struct pv_thread *pv_thread(void) { return NULL; }
struct pv_thread *pv_vforked(void) { return NULL; }
uint64_t pv_now(void) { return 0; }
int pv_errno(void) { return *pv_real.__errno_location(); }
void *pv_reserve(struct pv_thread *t, size_t size) { (void)t; (void)size; return NULL; }
void pv_publish(struct pv_thread *t, void *rec, uint8_t type, uint8_t op) { (void)t; (void)rec; (void)type; (void)op; }
struct provio_io *pv_reserve_io(struct pv_thread *t) { (void)t; return NULL; }
void pv_publish_io(struct pv_thread *t, struct provio_io *io) { (void)t; (void)io; }
void pv_touched(struct pv_thread *t, const void *rec, size_t size) { (void)t; (void)rec; (void)size; }
uint32_t pv_ref(const void *rec) { (void)rec; return 0; }
uint32_t pv_string(struct pv_thread *t, const char *b, size_t n) { (void)t; (void)b; (void)n; return 0; }
struct provio_op_rec *pv_op(struct pv_thread *t) { (void)t; return NULL; }
void pv_gap(struct pv_thread *t, enum provio_gap k, const char *p, uint32_t a) { (void)t; (void)k; (void)p; (void)a; }
size_t pv_absolute(int d, const char *p, char *o) { (void)d; (void)p; (void)o; return 0; }
