// The two kinds of the bench, written by hand as a generator would write them.
package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "bench.keelson.dev", Version: "v1"}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Part{}, &PartList{}, &Item{}, &ItemList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

// Part is what the manager reconciles.
type Part struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PartSpec   `json:"spec"`
	Status            PartStatus `json:"status,omitempty"`
}

type PartSpec struct {
	Size int64 `json:"size"`
}

type PartStatus struct {
	Size               int64              `json:"size,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

func (in *Part) DeepCopyInto(out *Part) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = copyConditions(in.Status.Conditions)
}

func (in *Part) DeepCopy() *Part {
	out := new(Part)
	in.DeepCopyInto(out)
	return out
}

func (in *Part) DeepCopyObject() runtime.Object { return in.DeepCopy() }

type PartList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Part `json:"items"`
}

func (in *PartList) DeepCopyObject() runtime.Object {
	out := &PartList{TypeMeta: in.TypeMeta, Items: make([]Part, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for index := range in.Items {
		in.Items[index].DeepCopyInto(&out.Items[index])
	}
	return out
}

// Item is what caches are filled with: 1.5 KB of JSON.
type Item struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ItemSpec   `json:"spec"`
	Status            ItemStatus `json:"status,omitempty"`
}

type ItemSpec struct {
	Image     string        `json:"image"`
	Replicas  int64         `json:"replicas"`
	Resources ItemResources `json:"resources"`
	Schedule  string        `json:"schedule"`
	Storage   ItemStorage   `json:"storage"`
}

type ItemResources struct {
	Limits   ItemQuantities `json:"limits"`
	Requests ItemQuantities `json:"requests"`
}

type ItemQuantities struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

type ItemStorage struct {
	ClassName string `json:"className"`
	Size      string `json:"size"`
}

type ItemStatus struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Endpoint           string             `json:"endpoint,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
}

func (in *Item) DeepCopyInto(out *Item) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = copyConditions(in.Status.Conditions)
}

func (in *Item) DeepCopyObject() runtime.Object {
	out := new(Item)
	in.DeepCopyInto(out)
	return out
}

type ItemList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Item `json:"items"`
}

func (in *ItemList) DeepCopyObject() runtime.Object {
	out := &ItemList{TypeMeta: in.TypeMeta, Items: make([]Item, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for index := range in.Items {
		in.Items[index].DeepCopyInto(&out.Items[index])
	}
	return out
}

func copyConditions(in []metav1.Condition) []metav1.Condition {
	if in == nil {
		return nil
	}
	out := make([]metav1.Condition, len(in))
	for index := range in {
		in[index].DeepCopyInto(&out[index])
	}
	return out
}
