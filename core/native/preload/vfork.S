/*
 * vfork(2): the child returns first, on the parent's stack, and overwrites the
 * return address there; so the address waits in a register, which the kernel
 * keeps for both. pv_vfork_enter/leave bracket the child's life (thread.c).
 */
    .text
    .globl vfork
    .globl __vfork
    .type vfork, %function
vfork:
__vfork:
#if defined(__x86_64__)
    subq $8, %rsp
    call pv_vfork_enter
    addq $8, %rsp
    popq %rdi
    movl $58, %eax
    syscall
    pushq %rdi
    testq %rax, %rax
    jz 1f
    pushq %rax
    call pv_vfork_leave
    popq %rax
    testq %rax, %rax
    jns 1f
    movq %rax, %rdi
    subq $8, %rsp
    call pv_vfork_failed
    addq $8, %rsp
1:  ret
#elif defined(__aarch64__)
    stp x29, x30, [sp, #-16]!
    bl pv_vfork_enter
    ldp x29, x30, [sp], #16
    mov x8, #220
    mov x0, #0x4111
    mov x1, #0
    mov x2, #0
    mov x3, #0
    mov x4, #0
    svc #0
    cbz x0, 1f
    stp x0, x30, [sp, #-16]!
    bl pv_vfork_leave
    ldp x0, x30, [sp], #16
    tbz x0, #63, 1f
    stp x29, x30, [sp, #-16]!
    bl pv_vfork_failed
    ldp x29, x30, [sp], #16
1:  ret
#endif
    .size vfork, .-vfork
    .section .note.GNU-stack, "", %progbits
