; The order of SONNX Max (second edition, line 57) for float (binary32), written by hand, apart from everything else
; in this folder:   NaN > +Inf > any positive number > +0 > -0 > any negative number > -Inf
; Every check-sat below must answer unsat, except where `sat` is echoed before it.
;   z3 order.smt2          cvc5 --incremental order.smt2          bitwuzla order.smt2
(set-logic QF_BVFP)
(define-sort F () (_ BitVec 32))
(define-fun size ((x F)) F (bvand x #x7fffffff))
(define-fun minus ((x F)) Bool (= ((_ extract 31 31) x) #b1))
(define-fun nan ((x F)) Bool (bvugt (size x) #x7f800000))

; 7 NaN, 6 +Inf, 5 positive, 4 +0, 3 -0, 2 negative, 1 -Inf
(define-fun class ((x F)) (_ BitVec 3)
  (ite (nan x) #b111
  (ite (= x #x7f800000) #b110
  (ite (= x #xff800000) #b001
  (ite (= x #x00000000) #b100
  (ite (= x #x80000000) #b011
  (ite (minus x) #b010 #b101)))))))

(define-fun above ((x F) (y F)) Bool
  (or (bvugt (class x) (class y))
      (and (= (class x) #b101) (= (class y) #b101) (bvugt x y))
      (and (= (class x) #b010) (= (class y) #b010) (bvult x y))))
(define-fun same ((x F) (y F)) Bool (or (= x y) (and (nan x) (nan y))))
(define-fun most ((x F) (y F)) F (ite (above y x) y x))
(define-fun number ((x F)) (_ FloatingPoint 8 24) ((_ to_fp 8 24) x))

(declare-const x F)
(declare-const y F)
(declare-const z F)

; total
(push 1) (assert (not (or (above x y) (above y x) (same x y)))) (check-sat) (pop 1)
; antisymmetric, irreflexive
(push 1) (assert (and (above x y) (above y x))) (check-sat) (pop 1)
(push 1) (assert (and (above x y) (same x y))) (check-sat) (pop 1)
; transitive
(push 1) (assert (and (above x y) (above y z) (not (above x z)))) (check-sat) (pop 1)
; agrees with IEEE 754 where that decides
(push 1)
(assert (not (or (nan x) (nan y) (and (fp.isZero (number x)) (fp.isZero (number y))))))
(assert (not (= (above x y) (fp.gt (number x) (number y)))))
(check-sat) (pop 1)
; NaN and the zeros are those of IEEE 754
(push 1) (assert (not (= (nan x) (fp.isNaN (number x))))) (check-sat) (pop 1)
; no third zero
(push 1) (assert (and (above #x00000000 x) (above x #x80000000))) (check-sat) (pop 1)
; the maximum: an upper bound, one of both, associative, commutative up to the NaN class, -Inf its identity, NaN absorbing
(push 1) (assert (or (above x (most x y)) (above y (most x y)))) (check-sat) (pop 1)
(push 1) (assert (not (or (= (most x y) x) (= (most x y) y)))) (check-sat) (pop 1)
(push 1) (assert (not (= (most (most x y) z) (most x (most y z))))) (check-sat) (pop 1)
(push 1) (assert (not (same (most x y) (most y x)))) (check-sat) (pop 1)
(push 1) (assert (not (and (= (most #xff800000 x) x) (= (most x #xff800000) x)))) (check-sat) (pop 1)
(push 1) (assert (not (= (nan (most x y)) (or (nan x) (nan y))))) (check-sat) (pop 1)
; on bits it is not commutative
(echo "sat")
(push 1) (assert (not (= (most x y) (most y x)))) (check-sat) (pop 1)
