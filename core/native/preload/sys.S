/* pv_sys(number, a, b, c, d, e, f): a raw system call. Returns what the kernel returned. */
    .text
    .globl pv_sys
    .hidden pv_sys
    .type pv_sys, %function
pv_sys:
#if defined(__x86_64__)
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %r10
    movq %r9, %r8
    movq 8(%rsp), %r9
    syscall
    ret
#elif defined(__aarch64__)
    mov x8, x0
    mov x0, x1
    mov x1, x2
    mov x2, x3
    mov x3, x4
    mov x4, x5
    mov x5, x6
    svc #0
    ret
#else
#error "no system call stub for this machine"
#endif
    .size pv_sys, .-pv_sys
    .section .note.GNU-stack, "", %progbits
